/* SPDX-License-Identifier: MIT */
#ifndef SUM_H
#define SUM_H

/* 0 + 1 + ... + threads - 1, each added by a thread; -1 if there is no room for so many. */
long sum_of_threads(int threads);

#endif
