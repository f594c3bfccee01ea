// What the module offers to JavaScript and takes from it.
#pragma once

#define MERCER_EXPORT(name) extern "C" __attribute__((export_name(#name), visibility("default")))
#define MERCER_IMPORT(name) extern "C" __attribute__((import_module("mercer"), import_name(#name)))
