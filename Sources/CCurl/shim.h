// SPDX-License-Identifier: Apache-2.0
//
// libcurl's set and get calls are variadic C functions, which Swift cannot call: one inline
// function a type of argument stands in for each.
#pragma once
#include <curl/curl.h>
