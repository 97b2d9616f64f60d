#!/bin/sh
# Runs several commands at once, each for a slice of time in its turn while the others are stopped: on
# a machine that is twice as fast in one minute as in the next, all of them get the same of both.
#
#   docs/benchmarks/slices.sh SECONDS COMMAND COMMAND...
#   docs/benchmarks/slices.sh 0.4 'tpcc/tpcc.sh run --path a.fovea --durability none ...' \
#     'tpcc/tpcc.sh run --path b.fovea --durability sync ...'
#
# A command that measures by the clock is stopped for most of what it measures: with N commands that
# last equally long, N times the throughput that it says is what it does. The ratios are right as they
# are. Latencies are not: a stop is in them. What a command prints goes to slice-1.txt, slice-2.txt ...
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
  # The commands replace the shell, as tpcc.sh does in turn: the process is the program's.
  sh -c "exec $command" >"slice-$number.txt" 2>&1 </dev/null &
  kill -STOP $!
  pids="$pids $!"
done
# One that has ended is a dash from then on: its number may be that of a stranger soon.
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
