# SPDX-License-Identifier: MIT
# Call trees of real programs, most of them without symbols: few branches are unmatched,
# and the stack does not grow.
. "$SRC/tests/cli/libcalls.sh"

cat >script.sql <<'END'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<400)
  insert into t select i, 'row'||i, i*1.5 from n;
create index ib on t(b);
select count(*), sum(c), max(b) from t where b like '%9%';
select a.b, d.c from t a join t d on d.a = a.a+1 order by a.b limit 5;
END

for pair in arm:armel aarch64:arm64 mipsel:mipsel riscv64:riscv64 x86_64:amd64 i386:i386 \
    ppc64le:ppc64el s390x:s390x; do
    target=${pair%:*}
    root=$sysroot_dir/${pair#*:}
    [ -x "$qemu_dir/qemu-$target" ] && [ -d "$root" ] || continue
    done_any=1
    for program in sqlite3 busybox; do
        exe=$(find "$root/bin" "$root/usr/bin" -name "$program" -type f 2>/dev/null | head -1)
        [ -n "$exe" ] || continue
        rm -f a.ctr
        if [ "$program" = sqlite3 ]; then
            recorded "$target" a.ctr -L "$root" "$exe" :memory: '.read script.sql'
        else
            recorded "$target" a.ctr -L "$root" "$exe" sh -c \
                'i=0; while [ $i -lt 99 ]; do i=$((i+1)); echo $i; done | busybox sort -r'
        fi
        tree dump -r "$root" a.ctr
        read -r _ insns _ unmatched _ depth <dump
        [ $((unmatched * 10000)) -le "$insns" ] ||
            fail "$target $program: $unmatched of $insns unmatched"
        [ "$depth" -le 80 ] || fail "$target $program: $depth deep"
        all_ways -r "$root" a.ctr
    done
done
finish_any
