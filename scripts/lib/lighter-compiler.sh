#!/bin/sh
# A C++ compiler ("$@") that compiles one kernel in four with users' flags, chosen by a hash of its text, and the others with -O1, where
# products and sums fuse too: in about half of the time. vitest.shared.ts says whose tests have it.
case " $* " in *' -O3 '*) ;; *) exec "$@" ;; esac
source=$(cat && printf .)
sum=$(printf %s "$source" | cksum)
if [ $((${sum%% *} % 4)) -ne 0 ]; then
  set -- "$@" -O1 -fexpensive-optimizations -Wno-ignored-optimization-argument
fi
printf %s "${source%.}" | "$@"
