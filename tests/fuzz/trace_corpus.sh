#!/bin/bash
# SPDX-License-Identifier: MIT
# Small traces for the fuzz targets of tools: trace_corpus.sh MKTRACE FILE DIR.  FILE is the
# one that p2.ctr has mapped.
set -eu
mktrace=$(realpath "$1") mapped=$(realpath "$2")
mkdir -p "$3"
cd "$3"
rm -f ./*

# Traces of fuzz_packets.
"$mktrace" random-all 1 7 30 p0.ctr expect
"$mktrace" system p1.ctr
"$mktrace" mapped "$mapped" p2.ctr

# Seeds of fuzz_session.
for seed in 1 2 3 4; do
    "$mktrace" random-all $seed 5 20 s$((seed - 1)).ctr expect
done
"$mktrace" random 4 5 20 s4.ctr expect
"$mktrace" random-few 5 5 20 s5.ctr expect
"$mktrace" key s6.ctr 3
"$mktrace" memory s7.ctr
"$mktrace" machine aarch64 s8.ctr
"$mktrace" generated s9.ctr
cp p1.ctr s10.ctr
cp p2.ctr s11.ctr
"$mktrace" calls mips s12.ctr
"$mktrace" calls s390x s13.ctr
"$mktrace" order 1 4 9 60 short s14.ctr
"$mktrace" tasks s15.ctr

# Pairs of fuzz_diff.
i=0
for what in none value address inserted result memory end thread copy-none copy-value \
    copy-result none value inserted memory thread; do
    "$mktrace" diff $((i + 1)) $what a$i.ctr b$i.ctr >expect
    i=$((i + 1))
done
rm -f expect* ./*.expect ./*.cut
