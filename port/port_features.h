/* SPDX-License-Identifier: MIT */
/*
 * port_features.h - what the port has found on this machine and uses, for `pirn doctor`
 * (native_features.c). Linux only.
 */
#ifndef PIRN_PORT_FEATURES_H
#define PIRN_PORT_FEATURES_H

#include "port.h"

#define PORT_FEATURE_TEXT 192

struct port_feature {
    const char *name;
    const char *state;           /* a word; the names and words are in linux_features.c */
    char why[PORT_FEATURE_TEXT]; /* or "" */
};

/* The i-th, after the runtime has started and a thread was created; false: there are fewer. */
bool port_feature(unsigned i, struct port_feature *feature);

#endif
