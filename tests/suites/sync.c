/* SPDX-License-Identifier: MIT */
#include "suite.h"
static const struct test tests[] = {{NULL, NULL, 0}};
const struct suite suite_sync = {"sync", tests};
