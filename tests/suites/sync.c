/* SPDX-License-Identifier: MIT */
/* Suite sync: the table. The tests are in sync_<object>.c, the list of them in sync_tests.h. */
#include "sync_tests.h"

#define SYNC_ENTRY(name) {#name, test_##name, 0},
static const struct test tests[] = {SYNC_TESTS(SYNC_ENTRY){NULL, NULL, 0}};

const struct suite suite_sync = {"sync", tests, NULL, false};
