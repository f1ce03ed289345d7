#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
#
# In one guest, client and server on the same rxe device: paths, verdicts, planted faults and lies,
# refusals, exit codes. SUBSET=1 runs what a sanitizer build is to go through, ONLY='lies' one group.

set -u
# shellcheck source=tests/lab/lib.sh
. tests/lab/lib.sh

paths_are_proven() {
	serve
	bw --path dmabuf,peermem,host,bounce --json "$LAB_OUT/all.json" -v
	check "all four paths are proven, write and read" all 'exits 0' 'row dmabuf write proven' \
		'row dmabuf read proven' 'row peermem write proven' 'row peermem read proven' \
		'row host write proven' 'row host read proven' 'row bounce write proven' 'row bounce read proven'
	check "the exporter of the dma-buf is shown" out_has 'exporter +exported by nv_dmabuf'
	check "the GPU is named as what it is" out_has 'Emulated GPU \(host memory\)'
	bw --path dmabuf,bounce --bidirectional --size 64K,3000
	check "both directions at once are proven" all 'exits 0' 'row dmabuf write\\+ proven' \
		'row dmabuf read\\+ proven' 'row bounce write\\+ proven' 'row bounce read\\+ proven'
	stop_server
	check "a server that is told to stop ends with 0" [ "$server_rc" -eq 0 ]
}

shapes() {
	serve
	bw --path dmabuf,bounce --connect tcp --qp 3 --size 2,3000,64K,4M --duration 0.1
	check "QP exchange over the control channel, three QPs, odd sizes" all 'exits 0' \
		'row dmabuf write proven' 'row bounce read proven' '! grep -q unproven "$LAB_OUT/out"'
	bw --path host --gid-index 1 --op write
	check "a GID index" all 'exits 0' 'row host write proven'
	bw --path host --gid-index 200
	check "a GID index that is not there" all 'exits 4' 'err_has "no GID at index 200"'
	bw --path host,bounce --iters 37 --op read
	check "a number of messages instead of a duration" all 'exits 0' 'row bounce read proven'
	bw --path dmabuf --gpu none --op write
	check "host memory on the client, GPU on the server" all 'exits 0' 'row dmabuf write proven' \
		'out_has "client .*no GPU|client +nodeA +no GPU"'
	bw --path dmabuf,bounce --server-gpu none
	check "GPU on the client, host memory on the server" all 'exits 0' 'row dmabuf read proven' \
		'row bounce write proven' 'row bounce read proven'
	bw --path host --gpu 0
	check "a GPU for a path without one is a usage error" all 'exits 2' one_error_line
	bw --path dmabuf --gpu 7
	check "a GPU that is not there" all 'exits 4' one_error_line "err_has \"no GPU '7'\""
	bw --path host --nic mlx5_9
	check "a NIC that is not there" all 'exits 4' one_error_line 'err_has "mlx5_9.*rxe0:1"'
	bw --path dmabuf --server-gpu 7
	check "a GPU that is not there at the server" all 'exits 4' one_error_line 'err_has "server: no GPU"'
	bw --path host --verify off --op write
	check "unchecked data is unproven, not proven" all 'exits 0' 'row host write unproven'
	bw --path dmabuf --verify sample --op write
	check "a sample proves" all 'exits 0' 'row dmabuf write proven'
	bw --path dmabuf --min-gbps 1000 --op write
	check "a threshold that is missed" all 'exits 3' one_error_line 'err_has "min-gbps"'
	bw --path host --min-gbps 1000 --op write
	check "a threshold holds host to account where no GPU path was asked for" exits 3
	bw --path host --require-path dmabuf --op write
	check "a required path that was not measured" all 'exits 4' one_error_line
	bw --path dmabuf --require-path dmabuf --min-vs-bounce 0.0001 --op write
	check "min-vs-bounce without a bounce to compare with is not met" exits 3
	printf 'accept:\n- {path: dmabuf, op: write, size: 64K, min-gbps: 0.0001}\n' >/tmp/accept.yaml
	printf -- '- {path: dmabuf, op: write, size: 64K, min-gbps: 1000}\n' >>/tmp/accept.yaml
	bw --accept /tmp/accept.yaml
	check "an acceptance file says what is measured, and what it must reach" all 'exits 3' \
		one_error_line 'err_has "accept.yaml:3 min-gbps 1000 missed by dmabuf/write/64K"' \
		'out_has "^accept.yaml:2 min-gbps 0.0001 met by "' 'row dmabuf write proven' \
		'row bounce write proven' '! out_has "^[a-z]+ +read"'
	sed -i 3d /tmp/accept.yaml
	bw --accept /tmp/accept.yaml
	check "a run that meets its acceptance file" all 'exits 0' '! out_has missed'
	bw --accept /tmp/accept.yaml --path host
	check "a rule that nothing was measured for is not met" all 'exits 4' one_error_line \
		'err_has "accept.yaml:2 verdict proven missed: not measured"'
	stop_server
	serve --max-bytes 1M
	bw --path host
	check "more memory than the server allows" all 'exits 4' 'err_has "max-bytes"'
	stop_server
}

# A key that both ends know, or the session does not begin.
keys() {
	echo secret >/tmp/key
	echo other >/tmp/other
	serve --psk-file /tmp/key
	bw --path host --op write --psk-file /tmp/key
	check "a client that knows the key is served" exits 0
	bw --path host --op write --psk-file /tmp/other
	check "a client with another key is not" all 'exits 1' one_error_line 'err_has "does not know the key"'
	bw --path host --op write
	check "a client without a key is told so" all 'exits 1' one_error_line 'err_has "has a key .--psk-file"'
	bw --path host --psk-file /nonexistent
	check "a key file that is not there" all 'exits 2' one_error_line
	stop_server
	serve
	bw --path host --op write --psk-file /tmp/key
	check "a client with a key does not talk to a server without" all 'exits 1' 'err_has "has none"'
	stop_server
}

# /proc/driver/nvidia/version as a host with that driver has it: a real file.
driver_file() {
	mountpoint -q /proc/driver || mount -t tmpfs driver /proc/driver
	mkdir -p /proc/driver/nvidia
	printf 'NVRM version: %s\nGCC version:  gcc version 12.2.0\n' "$1" >/proc/driver/nvidia/version
}

# What can't be had: a row with verb, errno, side, meaning, and exit 4.
refusals() {
	driver_file "NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (builder@host)"
	serve GP_EMU_PEERMEM=off
	bw GP_EMU_PEERMEM=off --path peermem
	check "peermem off: the row names nvidia_peermem and EFAULT" all 'exits 4' \
		'out_has "^peermem .*not available: client: ibv_reg_mr.*EFAULT.*nvidia_peermem is not loaded"'
	bw --path peermem
	check "peermem off at the server only: the row names that side" all 'exits 4' \
		'out_has "not available: server: ibv_reg_mr.*EFAULT"'
	bw GP_EMU_PEERMEM=off
	check "auto goes on without what can't be had" all 'exits 0' 'row dmabuf write proven' \
		'out_has "^peermem .*not available"' 'row bounce read proven'
	bw GP_EMU_DMABUF=off --path dmabuf
	check "dma-buf support off is named" all 'exits 4' \
		'out_has "^dmabuf .*not available: client: cuMemGetHandleForAddressRange.*CUDA_ERROR_NOT_SUPPORTED.*Open Kernel Module"'
	stop_server
	serve
	for code in EOPNOTSUPP ENOMEM EINVAL EPROTONOSUPPORT 524; do
		bw GP_EMU_REG_FAIL=dmabuf GP_EMU_REG_ERRNO=$code --path dmabuf --op write
		check "ibv_reg_dmabuf_mr with $code is told with what it means" all 'exits 4' \
			"out_has 'not available: client: ibv_reg_dmabuf_mr.*$code.*; '"
	done
	driver_file "NVIDIA UNIX x86_64 Kernel Module  535.183.06  Wed Jun 26 06:46:07 UTC 2024"
	bw GP_EMU_DRIVER=proprietary --path dmabuf --op write
	check "the proprietary driver is named, with its line" all 'exits 4' \
		'out_has "not available: client: .*missing here: driver: proprietary 535.183.06.*NVRM version: NVIDIA UNIX x86_64 Kernel Module"'
	bw GP_EMU_PEERMEM=off --path peermem --op write
	check "the module that is not loaded is named, with where that stands" all 'exits 4' \
		'out_has "missing here: module: nvidia_peermem is not loaded .*/proc/modules"'
	driver_file "NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (builder@host)"
	bw GP_EMU_DRIVER=none --path dmabuf
	check "no GPU driver" all 'exits 4' 'err_has "cudaErrorInsufficientDriver"'
	bw GP_EMU_DRIVER=none --path host --op write
	check "no GPU driver does not hinder host" exits 0
	bw GP_EMU_GPUS=0 --path auto
	check "no GPU leaves auto nothing to measure" exits 4
	bw GP_EMU_MEMORY=1000000 --path dmabuf --op write
	check "a GPU without room" all 'exits 4' 'out_has "cudaMalloc.*cudaErrorMemoryAllocation"'
	stop_server
}

# Lies must not be proven.
lies() {
	serve
	bw GP_EMU_FLIP_BYTE=1 --path dmabuf --op read
	check "one flipped byte contradicts" all 'exits 5' 'row dmabuf read contradicted' \
		'err_has "1 B of .* wrong"'
	check "no figure stands beside a contradicted path" out_has '^dmabuf +read +64K +- '
	bw GP_EMU_FLIP_BYTE=1 --path bounce --op read
	check "one flipped byte contradicts bounce too" all 'exits 5' 'row bounce read contradicted'
	bw GP_EMU_EXPORTER=udmabuf --path dmabuf --op write
	check "a dma-buf that is not the GPU driver's contradicts" all 'exits 5' 'err_has "exporter"'
	bw GP_EMU_EXPORTER= GP_EMU_MANAGED=1 --path peermem --op write
	check "managed memory contradicts" all 'exits 5' 'err_has "managed"'
	bw GP_EMU_MEMORY_TYPE=host --path dmabuf --op write
	check "a pointer to host memory contradicts" all 'exits 5' 'err_has "host memory"'
	bw GP_EMU_DMABUF_LIE=1 --path dmabuf --op read
	check "registering other pages is found by the data" all 'exits 5' 'err_has "data: .* wrong"'
	bw GP_EMU_PEERMEM_IDLE=1 --path peermem --op write
	check "a use count that does not rise contradicts" all 'exits 5' 'err_has "peermem-users"'
	stop_server
	serve GP_EMU_PEERMEM=off GP_EMU_SHARED_PAGE_TABLES=1
	bw GP_EMU_PEERMEM=off GP_EMU_SHARED_PAGE_TABLES=1 --path peermem --op write
	check "shared page tables leave peermem unproven" all 'exits 0' 'row peermem write unproven' \
		'out_has "shares the CPU.s page tables"'
	stop_server
}

# Peers that die or hang.
deaths() {
	serve
	(in_a_round; kill -9 "$server_pid") &
	local start=$SECONDS
	bw --path host --op write --duration 20
	wait "$server_pid" 2>/dev/null
	check "a killed server ends the client in time, with one line" all 'exits 1' one_error_line \
		'err_has "went away"' '[[ $((SECONDS - start)) -lt 25 ]]'
	server_pid=
	serve
	bw --path host --op write
	check "the next client works" exits 0
	for path in host bounce; do
		(in_a_round; pkill -9 -x gdrproof -n) &
		bw --path $path --op write --duration 20
		wait $!
		check "the client was killed ($path)" exits 137
		bw --path host --op write
		check "and the server goes on serving" all 'exits 0' 'kill -0 "$server_pid"'
	done
	check "the server said what happened" grep -q 'client 127.0.0.1: .*closed the control channel\|went away' "$LAB_OUT/serve.err"
	(in_a_round; pkill -INT -x gdrproof -n) &
	bw --path host --op write --duration 20
	check "Ctrl-C ends a run with a line" all 'exits 1' 'err_has "interrupted"'
	bw GP_EMU_HANG_COPY=3 --path bounce --op write --timeout 3
	check "a copy that hangs ends the run" all 'exits 1' 'err_has "no progress|no answer"'
	bw --path bounce --op write
	check "and the next client works" exits 0
	exec 9<>/dev/tcp/127.0.0.1/18515
	printf 'GET / HTTP/1.0\r\n\r\n' >&9
	sleep 0.5
	exec 9>&-
	check "a stranger is turned away" grep -q 'most likely the other end is not gdrproof' "$LAB_OUT/serve.err"
	bw --path host --op write
	check "and the next client works after that" exits 0
	stop_server
}

# One client at a time; the next one waits, and is told where that takes too long.
queue() {
	TIMEOUT=3 serve
	tests/emu/with "$gdrproof" bw 127.0.0.1 "${quick[@]}" --path host --op write --duration 100 >"$LAB_OUT/first" 2>&1 &
	local first=$!
	in_a_round
	bw --path host --op write
	check "a client that would wait too long is told that the server is busy" all 'exits 1' \
		one_error_line 'err_has "server: the server is busy with another client"'
	check "and the first one is not disturbed" kill -0 $first
	kill -INT $first
	wait $first
	stop_server
	serve
	tests/emu/with "$gdrproof" bw 127.0.0.1 "${quick[@]}" --path host --op write --duration 2 >"$LAB_OUT/first" 2>&1 &
	in_a_round
	bw --path host --op write
	check "a client that comes while another is served waits for its turn" exits 0
	wait $!
	stop_server
}

# Every CUDA call may fail once: the run ends in order, and the server with it.
failures() {
	local call
	for call in cudaMalloc cudaMemcpy cudaMemcpyAsync cudaHostRegister cudaStreamCreateWithFlags \
		cudaEventCreateWithFlags cudaEventRecord cudaEventQuery cuPointerSetAttribute \
		cuMemGetHandleForAddressRange cuFlushGPUDirectRDMAWrites; do
		serve
		bw GP_EMU_FAIL_CALL=$call:1 --path dmabuf,bounce --op read
		check "$call fails at the client" all '[[ $rc -eq 1 || $rc -eq 4 ]]' "err_has 'client: $call'"
		stop_server
		serve GP_EMU_FAIL_CALL=$call:1
		bw --path dmabuf,bounce --op write
		check "$call fails at the server" all '[[ $rc -eq 1 || $rc -eq 4 ]]' "err_has 'server: $call'"
		bw --path dmabuf --op write
		check "and the server lives on" exits 0
		stop_server
		check "without a report" all '[[ $server_rc -eq 0 ]]' '! grep -q "ERROR: \|runtime error" "$LAB_OUT/serve.err"'
	done
}

# The real runtime library, and no driver.
real_runtime() {
	local lib
	lib=$(ls "${CUDA_HOME:-/usr/local/cuda}"/lib*/libcudart.so.1[0-9] 2>/dev/null | head -n 1)
	if [[ -z $lib ]]; then
		skip "the real CUDA runtime without a driver" "no toolkit here"
		return
	fi
	serve
	timeout 60 "$gdrproof" bw 127.0.0.1 "${quick[@]}" --path dmabuf >"$LAB_OUT/out" 2>"$LAB_OUT/err"
	rc=$?
	check "the real CUDA runtime without a driver is told in one line" all 'exits 4' one_error_line \
		'err_has "CUDA runtime .* is here, but no NVIDIA driver|cudaErrorInsufficientDriver"'
	timeout 60 "$gdrproof" bw 127.0.0.1 "${quick[@]}" --path host --op write >"$LAB_OUT/out" 2>"$LAB_OUT/err"
	rc=$?
	check "and host works" all 'exits 0' 'row host write proven'
	stop_server
	"$gdrproof" serve 2>"$LAB_OUT/serve.err" &
	server_pid=$!
	sleep 2
	check "a server with the real runtime and no driver says so when it starts" \
		grep -q 'no GPU for clients: .*CUDA runtime .*no NVIDIA driver\|no GPU for clients: .*cudaErrorInsufficientDriver' "$LAB_OUT/serve.err"
	bw --path dmabuf
	check "and tells its clients" all 'exits 4' \
		'out_has "not available: server: .*no NVIDIA driver"'
	stop_server
}

if [[ -n ${SUBSET:-} ]]; then
	groups="paths_are_proven failures"
else
	groups="paths_are_proven shapes keys refusals lies deaths queue real_runtime"
fi
for group in ${ONLY:-$groups}; do
	"$group"
done
echo "1..$count"
