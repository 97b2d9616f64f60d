#!/bin/sh
# Runs the TPC-C driver with JDK 22 or later. Builds its jar if it is missing or older than the sources.
#
#   tpcc/tpcc.sh run                      loads and runs with defaults
#   tpcc/tpcc.sh run --help               all options
#   tpcc/tpcc.sh report run.json          plots the report of run --json run.json
#
# JAVA_HOME names the preferred JDK. FOVEA_JAVA_OPTS adds JVM options, such as -Xmx2g.
#
# On JDK 25 or later, an ahead-of-time cache is trained in the background after the first run has ended, and
# stored next to the jar (tpcc-file.aot, or tpcc-memory.aot for runs in memory), so that later runs start warm.
# That takes half a minute at the lowest priority; a run that starts meanwhile stops it. FOVEA_AOT=off disables this;
# FOVEA_AOT=first trains before the run.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 3
root=$(dirname -- "$here")
jar=$here/target/tpcc.jar
required=22

die() {
  printf 'tpcc.sh: %s\n' "$1" >&2
  exit 3
}

[ -f "$root/cli/java.sh" ] || die "$root/cli/java.sh is missing"
. "$root/cli/java.sh"

stale() {
  [ ! -f "$jar" ] && return 0
  changed=$(find "$root/pom.xml" "$root/bindings/pom.xml" "$root/bindings/src/main" \
    "$root/engine/pom.xml" "$root/engine/src/main" "$here/pom.xml" "$here/src/main" \
    -newer "$jar" -type f 2>/dev/null | head -n 1)
  [ -n "$changed" ]
}

java=$(find_java)
[ -n "$java" ] ||
  die "no JDK of version $required or later: install one, such as temurin-25-jdk or openjdk-25-jdk, or set JAVA_HOME to it"

# A jar without the sources is run as it is.
if [ -f "$root/pom.xml" ] && stale; then
  command -v mvn >/dev/null 2>&1 ||
    die "$jar is missing or older than the sources, and there is no Maven to build it: install maven"
  printf 'building %s\n' "$jar" >&2
  # Maven may run on any JDK; this tells it the JDK that compiles.
  home=$(dirname -- "$(dirname -- "$java")")
  command -v java >/dev/null 2>&1 || JAVA_HOME=${JAVA_HOME:-$home}
  export "JAVA$(version_of "$java")_HOME=$home" JAVA_HOME
  (cd "$root" && mvn -B -q -ntp -Dstyle.color=never -pl tpcc -am -Dmaven.test.skip=true package </dev/null >&2) ||
    die "the build failed"
fi
[ -f "$jar" ] || die "$jar is missing"

# Pages are outside the heap, which has only histograms, statistics and the sums of a check.
options="-Xms256m -Xmx768m -XX:+UseParallelGC -XX:+AlwaysPreTouch --enable-native-access=ALL-UNNAMED"

# The clients keep all processors busy. With more compiler threads than processors, the compilers get most of the time for the
# few seconds that they need. With eight processors or more the default is as many.
compilers=
[ "$(getconf _NPROCESSORS_ONLN 2>/dev/null || printf 8)" -ge 8 ] || compilers=-XX:CICompilerCount=8

# A cache fits one JVM and one jar: it is rebuilt if the JVM changes or the jar is newer. Training compiles late, at twenty
# times the thresholds of JDK 25, so that profiles cover more branches. Runs in memory and on a file have separate caches,
# as a profile of both takes longer to compile.
late="-XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000 -XX:Tier4CompileThreshold=300000
  -XX:Tier4BackEdgeThreshold=800000"
kind=file
case " $* " in *" --io memory "* | *" --io=memory "*) kind=memory ;; esac
cache=$here/target/tpcc-$kind.aot
training=$here/target/tpcc-training.pid
jvm=$(dirname -- "$(dirname -- "$java")")/release

# A training in progress would take processor time from this run.
if [ -f "$training" ]; then
  pid=$(cat "$training")
  rm -f "$training" # first: its absence says that the training was stopped
  case $(ps -ww -o args= -p "$pid" 2>/dev/null) in *"$jar train "*) kill "$pid" ;; esac
fi

# Trains the cache, which is empty if that fails.
train() {
  # shellcheck disable=SC2086 # options are words
  nice -n 19 "$java" $options $late -XX:AOTCacheOutput="$cache.$$" -Xlog:disable -jar "$jar" train "$kind" \
    </dev/null >"$cache.log" 2>&1 &
  printf '%s\n' $! >"$training"
  wait $!
  code=$?
  if [ -f "$training" ]; then # not stopped by another run
    [ $code -eq 0 ] && mv -f "$cache.$$" "$cache" || : >"$cache"
    cp "$jvm" "$cache.jvm"
    rm -f "$training"
  fi
  rm -f "$cache.$$" "$cache.$$.config"
}

is_trained() {
  [ -f "$cache" ] && [ ! "$jar" -nt "$cache" ] && cmp -s "$jvm" "$cache.jvm"
}

warm=
aot=${FOVEA_AOT:-on}
if [ "$aot" != off ] && [ "$(version_of "$java")" -ge 25 ] && [ -w "$here/target" ]; then
  if ! is_trained; then
    if [ "$aot" = first ]; then
      train
    elif [ "${1:-}" = run ]; then
      { while kill -0 $$; do sleep 1; done; train; } </dev/null >/dev/null 2>&1 & # after the run, which becomes process $$
    fi
  fi
  is_trained && [ -s "$cache" ] && warm="-XX:AOTCache=$cache -Xlog:disable -Xlog:all=error:stderr"
fi

# shellcheck disable=SC2086 # options are words
exec "$java" $options $compilers $warm "-Dtpcc.command=$0" ${FOVEA_JAVA_OPTS:-} -jar "$jar" "$@"
