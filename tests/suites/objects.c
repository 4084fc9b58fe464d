/* SPDX-License-Identifier: MIT */
/* Suite objects: the table. The tests are in objects_<object>.c, the list in objects_tests.h. */
#include "objects_tests.h"

#define OBJECTS_ENTRY(name) {#name, test_##name, 0},
static const struct test tests[] = {OBJECTS_TESTS(OBJECTS_ENTRY){NULL, NULL, 0}};

const struct suite suite_objects = {"objects", tests, NULL, false};
