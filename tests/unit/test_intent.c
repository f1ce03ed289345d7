/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_intent: settings of a cluster in the forms that people have them in; rows.
 */
#include "intent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *text;
	enum gp_fact_id id;
	enum gp_known known;
	const char *value; /* NULL: not compared */
} rows[] = {
	/* helm values */
	{"driver:\n  rdma:\n    useHostMofed: true\n", GP_FACT_HOST_MOFED, GP_YES, NULL},
	{"driver:\n  rdma: {enabled: false, useHostMofed: false}\n", GP_FACT_RDMA_ENABLED, GP_NO,
	 NULL},
	{"{\"driver\":{\"rdma\":{\"useHostMofed\":true}}}\n", GP_FACT_HOST_MOFED, GP_YES, NULL},
	{"USER-SUPPLIED VALUES:\ngds:\n  enabled: \"true\"\n", GP_FACT_GDS, GP_YES, NULL},
	{"gpu-operator:\n  driver:\n    kernelModuleType: auto\n", GP_FACT_MODULE_TYPE, GP_YES,
	 "auto"},
	{"driver:\n  useOpenKernelModules: false\n", GP_FACT_MODULE_TYPE, GP_UNKNOWN, NULL},
	{"driver:\n  useOpenKernelModules: true\n", GP_FACT_MODULE_TYPE, GP_YES, "open"},
	{"gds:\n  version: 2.17.5\n", GP_FACT_GDS_VERSION, GP_YES, "2.17.5"},
	/* a comment, or another chart's key of the same name, is no setting */
	{"driver: {}\n# driver.rdma.enabled: true\n", GP_FACT_RDMA_ENABLED, GP_UNKNOWN, NULL},
	{"driver:\n  other:\n    rdma:\n      enabled: true\n", GP_FACT_RDMA_ENABLED, GP_UNKNOWN,
	 NULL},
	/* objects */
	{"apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nspec:\n  driver:\n    rdma:\n      "
	 "enabled: true\n",
	 GP_FACT_RDMA_ENABLED, GP_YES, NULL},
	{"apiVersion: v1\nkind: List\nitems:\n- kind: ClusterPolicy\n  spec:\n    gds:\n      "
	 "enabled: true\n",
	 GP_FACT_GDS, GP_YES, NULL},
	{"apiVersion: nvidia.com/v1alpha1\nkind: NVIDIADriver\nspec:\n  kernelModuleType: open\n",
	 GP_FACT_MODULE_TYPE, GP_YES, "open"},
	{"apiVersion: mellanox.com/v1alpha1\nkind: NicClusterPolicy\nspec:\n  ofedDriver:\n    "
	 "image: doca-driver\n    version: doca3.1.0-25.07-0.9.7.0-0\n",
	 GP_FACT_OFED_DRIVER, GP_YES, "doca3.1.0-25.07-0.9.7.0-0"},
	{"ofedDriver:\n  deploy: false\n", GP_FACT_OFED_DRIVER, GP_NO, NULL},
	/* the DaemonSet */
	{"kind: DaemonSet\napiVersion: apps/v1\nspec:\n  template:\n    spec:\n      containers:\n "
	 "     - name: nvidia-driver-ctr\n        env:\n        - name: USE_HOST_MOFED\n          "
	 "value: \"true\"\n      - name: nvidia-peermem-ctr\n",
	 GP_FACT_PEERMEM_CONTAINER, GP_YES, NULL},
	{"kind: DaemonSet\nspec:\n  template:\n    spec:\n      containers:\n      - name: "
	 "nvidia-driver-ctr\n        env:\n        - name: USE_HOST_MOFED\n          value: "
	 "\"true\"\n",
	 GP_FACT_HOST_MOFED, GP_YES, NULL},
	{"kind: DaemonSet\nspec:\n  template:\n    spec:\n      containers:\n      - name: "
	 "nvidia-driver-ctr\n",
	 GP_FACT_PEERMEM_CONTAINER, GP_NO, NULL},
	{"  Containers:\n   nvidia-driver-ctr:\n    Environment:\n      GPU_DIRECT_RDMA_ENABLED:  "
	 "true\n   nvidia-peermem-ctr:\n",
	 GP_FACT_RDMA_ENABLED, GP_YES, NULL},
	{"nvidia-driver-ctr nvidia-fs-ctr\n", GP_FACT_PEERMEM_CONTAINER, GP_NO, NULL},
	/* versions, flags */
	{"gpu-operator  gpu-operator  1  2025  deployed  gpu-operator-v24.9.2  v24.9.2\n",
	 GP_FACT_GPU_OPERATOR, GP_YES, "24.9.2"},
	{"network-operator  n  1  2026  deployed  network-operator-26.7.0  v26.7.0\n",
	 GP_FACT_NETWORK_OPERATOR, GP_YES, "26.7.0"},
	{"gpu-operator-7d9f4c5b6-x2x7k  1/1  Running\n", GP_FACT_GPU_OPERATOR, GP_UNKNOWN, NULL},
	{"$ helm upgrade x nvidia/gpu-operator --set driver.rdma.enabled=true,gds.enabled=false\n",
	 GP_FACT_RDMA_ENABLED, GP_YES, NULL},
	{"mofed-ubuntu22.04-6d8f-ds-x7k2p  1/1  Running  0  3d\n", GP_FACT_OFED_DRIVER, GP_YES,
	 NULL},
};

static void every_form_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gp_inventory inv = {0};
		struct gp_segments segments;
		char *text = strdup(rows[i].text);
		const struct gp_host_fact *fact = &inv.facts[rows[i].id];
		char why[200];

		assert_int_equal(gp_segments_read(text, strlen(text), NULL, &segments), 0);
		for (int s = 0; s < segments.n; s++) {
			/* as --intent does: the whole as one document, then whatever is in it */
			if (!segments.item[s].command)
				gp_intent_yaml(&inv, segments.item[s].lines, segments.item[s].n,
					       "row", why, sizeof(why));
			gp_intent_read(&inv, &segments.item[s], "row");
		}
		if (fact->known != rows[i].known ||
		    (rows[i].value && strcmp(fact->value, rows[i].value) != 0))
			fail_msg("%s is %d '%s' out of:\n%s", gp_fact_name(rows[i].id), fact->known,
				 fact->known ? fact->value : "", rows[i].text);
		gp_segments_close(&segments);
		gp_inventory_close(&inv);
		free(text);
	}
}

static int read_yaml(const char *text, char *why, size_t size)
{
	struct gp_inventory inv = {0};
	struct gp_segments segments;
	char *copy = strdup(text);
	int rc;

	assert_int_equal(gp_segments_read(copy, strlen(copy), NULL, &segments), 0);
	rc = gp_intent_yaml(&inv, segments.item[0].lines, segments.item[0].n, "row", why, size);
	gp_segments_close(&segments);
	gp_inventory_close(&inv);
	free(copy);
	return rc;
}

static void what_is_broken_is_refused(void **state)
{
	char why[200] = "", deep[200] = "";

	(void)state;
	assert_int_equal(read_yaml("driver:\n  rdma: [true\n foo: bar\n", why, sizeof(why)), -1);
	assert_non_null(strstr(why, "line "));
	memset(deep, '[', 100);
	assert_int_equal(read_yaml(deep, why, sizeof(why)), -1);
	assert_non_null(strstr(why, "deeper"));
	/* aliases are not followed: a few lines that stand for billions are a few lines */
	assert_true(read_yaml("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", why, sizeof(why)) >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_is_read),
		cmocka_unit_test(what_is_broken_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
