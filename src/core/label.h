/* SPDX-License-Identifier: MIT */
/* label.h - labels of waits: label.c. */
#ifndef PIRN_CORE_LABEL_H
#define PIRN_CORE_LABEL_H

#include <pirn/label.h>

/* As pirn_label_text. */
size_t rt_label_text(const struct pirn_label *label, char *text, size_t size);

/* As pirn_threads_running. */
unsigned rt_threads_running(void);

#endif
