/* SPDX-License-Identifier: MIT */
/*
 * virtual.cpp - what tables of virtual functions refer to where there is none to call.
 * They do so weakly: the link asks for these by name (port/board/program.cmake).
 */
#include "cxx.h"

extern "C" void __cxa_pure_virtual()
{
    pirn::detail::fail("a pure virtual function was called");
}

extern "C" void __cxa_deleted_virtual()
{
    pirn::detail::fail("a deleted virtual function was called");
}
