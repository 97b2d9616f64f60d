# Finds a JDK, for cli/fovea.sh, tpcc/tpcc.sh and docs/benchmarks/run.sh, which read this file. They set required, the
# lowest feature version. Reading it takes less than a millisecond; no process is started for a JDK with a release file.

# Prints the feature version of a java command, such as 25; nothing if it does not run. A JDK has a file
# that names its version; only where that is missing, java is started.
version_of() {
  real=$(readlink -f -- "$1" 2>/dev/null) || real=$1
  version=$(sed -n 's/^JAVA_VERSION="\([0-9][0-9]*\).*$/\1/p' "${real%/bin/java}/release" 2>/dev/null)
  if [ -n "$version" ]; then
    printf '%s\n' "$version"
  else
    "$1" -XshowSettings:properties -version 2>&1 </dev/null |
      sed -n 's/^ *java\.specification\.version = \([0-9][0-9]*\)$/\1/p'
  fi
}

# Prints the java commands in the usual folders. Patterns that match nothing are skipped.
candidates() {
  [ -n "${JAVA_HOME:-}" ] && printf '%s\n' "$JAVA_HOME/bin/java"
  command -v java
  for folder in \
    /usr/lib/jvm/* /usr/lib64/jvm/* /usr/java/* /opt/java/* /opt/jdk* /opt/*/jdk* \
    /usr/local/jdk* /usr/local/java/* "${HOME:-}"/.jdks/* "${HOME:-}"/.sdkman/candidates/java/* \
    "${SDKMAN_CANDIDATES_DIR:-/nowhere}"/java/* "${HOME:-}"/.asdf/installs/java/* \
    "${HOME:-}"/.local/share/mise/installs/java/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home \
    /opt/homebrew/opt/openjdk* /usr/local/opt/openjdk*
  do
    [ -x "$folder/bin/java" ] && printf '%s\n' "$folder/bin/java"
  done
}

# Prints the first that is new enough: JAVA_HOME and PATH come first.
find_java() {
  candidates | while IFS= read -r java; do
    [ -x "$java" ] || continue
    version=$(version_of "$java")
    if [ "${version:-0}" -ge "$required" ]; then
      printf '%s\n' "$java"
      break
    fi
  done
}
