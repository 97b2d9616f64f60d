#!/bin/sh
# Runs the fovea command with JDK 22 or later. Builds its jar if it is missing or older than the sources.
#
#   cli/fovea.sh --help                   all commands
#   cli/fovea.sh FILE                     a shell
#   cli/fovea.sh verify FILE              checks a database file
#   cli/fovea.sh replica status PEERS     a replicated database: needs integrations/ratis
#
# JAVA_HOME names the preferred JDK. FOVEA_JAVA_OPTS adds JVM options, such as -Xmx2g. FOVEA_AOT=off ignores the
# startup cache that the build has stored next to the jar.
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 3
root=$(dirname -- "$here")
jar=$here/target/fovea.jar
required=22

die() {
  printf 'fovea.sh: %s\n' "$1" >&2
  exit 3
}

[ -f "$here/java.sh" ] || die "$here/java.sh is missing"
. "$here/java.sh"

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

build() {
  command -v mvn >/dev/null 2>&1 ||
    die "$1 is missing or older than the sources, and there is no Maven to build it: install maven"
  printf 'building %s\n' "$1" >&2
  shift
  # Maven may run on any JDK; this tells it the JDK that compiles.
  home=$(dirname -- "$(dirname -- "$java")")
  command -v java >/dev/null 2>&1 || JAVA_HOME=${JAVA_HOME:-$home}
  export "JAVA$(version_of "$java")_HOME=$home" JAVA_HOME
  (cd "$root" && mvn -B -q -ntp -Dstyle.color=never "$@" </dev/null >&2) || die "the build failed"
}

# The replica command is in fovea-ratis, as this jar has no Ratis.
if [ "${1:-}" = replica ]; then
  shift
  ratis=$root/integrations/ratis
  [ -f "$ratis/pom.xml" ] || die "the replica command needs $ratis, which is missing"
  if [ ! -f "$ratis/target/cp.txt" ] ||
    [ "$ratis/src/main/java/io/fovea/ratis/ReplicaCommand.java" -nt "$ratis/target/classes/io/fovea/ratis/ReplicaCommand.class" ]
  then
    build "$ratis" -pl integrations/ratis -am -Pquick -DskipTests package \
      dependency:build-classpath -Dmdep.outputFile=target/cp.txt
  fi
  # Ratis' Netty calls sun.misc.Unsafe, for which JDK 24 and later print a warning.
  unsafe=
  [ "$(version_of "$java")" -ge 24 ] && unsafe=--sun-misc-unsafe-memory-access=allow
  # shellcheck disable=SC2086 # options are words
  exec "$java" -Xms32m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto \
    --enable-native-access=ALL-UNNAMED $unsafe ${FOVEA_JAVA_OPTS:-} \
    -cp "$ratis/target/classes:$(cat "$ratis/target/cp.txt")" io.fovea.ratis.ReplicaCommand "$@"
fi

# A jar without the sources is run as it is.
if [ -f "$root/pom.xml" ] && stale; then
  build "$jar" -pl cli -am -Dmaven.test.skip=true package
fi
[ -f "$jar" ] || die "$jar is missing"

# The build has made a cache of loaded classes: fovea.aot, or before JDK 25 fovea.jsa. It fits one JVM and one jar; the
# JVM ignores a cache that does not fit the jar.
warm=
cache=$here/target/fovea
if [ "${FOVEA_AOT:-on}" != off ] && cmp -s "${java%/bin/java}/release" "$cache.jvm"; then
  if [ -f "$cache.aot" ]; then
    warm="-XX:AOTCache=$cache.aot -Xlog:disable"
  elif [ -f "$cache.jsa" ]; then
    warm="-XX:SharedArchiveFile=$cache.jsa -Xlog:disable"
  fi
fi

# Most commands end before the JVM's second compiler has paid off.
compilers=-XX:TieredStopAtLevel=1
case ${1:-} in serve) compilers= ;; esac

# A small heap suffices: pages are outside of it, and rows are printed one at a time.
# shellcheck disable=SC2086 # options are words
exec "$java" -Xms32m -Xmx512m -XX:+UseSerialGC $compilers $warm \
  --enable-native-access=ALL-UNNAMED "-Dfovea.command=$0" ${FOVEA_JAVA_OPTS:-} -jar "$jar" "$@"
