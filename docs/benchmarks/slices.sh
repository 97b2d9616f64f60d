#!/bin/sh
# Runs several commands at once, each for a slice of time while the others are stopped. On a machine
# whose speed varies from minute to minute, all commands get the same share of fast and slow time.
#
#   docs/benchmarks/slices.sh SECONDS COMMAND COMMAND...
#   docs/benchmarks/slices.sh 0.4 'tpcc/tpcc.sh run --path a.fovea --durability none ...' \
#     'tpcc/tpcc.sh run --path b.fovea --durability sync ...'
#
# With N commands of equal duration, the real throughput is N times the reported one, as each command
# measures wall-clock time and is stopped for most of it. Ratios are correct. Latencies are not: they
# include the stops. Output goes to slice-1.txt, slice-2.txt, ...
set -u

[ $# -ge 3 ] || {
  sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
  exit 1
}
slice=$1
shift
pids=
number=0
for command; do
  number=$((number + 1))
  # exec, here and in tpcc.sh: the process must be the program's.
  sh -c "exec $command" >"slice-$number.txt" 2>&1 </dev/null &
  kill -STOP $!
  pids="$pids $!"
done
# The id of an ended process is replaced by a dash, since the system may reuse it.
end() {
  for pid in $pids; do
    [ "$pid" = - ] && continue
    kill "$pid" 2>/dev/null
    kill -CONT "$pid" 2>/dev/null
  done
}
trap end EXIT
trap 'exit 1' HUP INT TERM

alive=1
while [ -n "$alive" ]; do
  alive=
  left=
  for pid in $pids; do
    [ "$pid" = - ] || case $(ps -o stat= -p "$pid") in
      '' | Z*) pid=- ;;
    esac
    if [ "$pid" = - ]; then
      sleep "$slice" # the others get no more than before
    else
      alive=1
      kill -CONT "$pid" 2>/dev/null
      sleep "$slice"
      kill -STOP "$pid" 2>/dev/null
    fi
    left="$left $pid"
  done
  pids=$left
done
trap - EXIT
wait
grep -HE '(tx|lookups)/s, ' slice-*.txt
