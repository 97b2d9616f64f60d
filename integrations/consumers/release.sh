#!/usr/bin/env bash
# Checks a release as a user would receive it:
#
#   1. builds the published artifacts twice, in two folders, and compares them byte by byte;
#   2. deploys them into a folder repository;
#   3. builds the service of docs/guide/getting-started.md from that repository, in a Maven project
#      outside of this build and with an empty local repository, and runs it. The Gradle project is
#      written next to it, and built if a current gradle is on the PATH.
#
# Usage: release.sh [FOLDER], a folder outside of this checkout that is empty or does not exist.
# Without one the script works in a temporary folder and removes it.
# MVN_OPTIONS: more options for step 1 and 2, for example -o.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "$#" -gt 0 ]; then
  work=$1
  mkdir -p "$work"
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
work=$(cd "$work" && pwd)
repository=$work/repository
guide=$root/docs/guide/getting-started.md
read -r -a options <<<"${MVN_OPTIONS:-}"

say() { printf '\n== %s\n' "$*"; }
fail() { printf 'release.sh: %s\n' "$*" >&2; exit 1; }
[ -z "$(ls -A "$work")" ] || fail "$work is not empty"

modules=()
for module in $(sed -n 's|^ *<module>\(.*\)</module>|\1|p' "$root/pom.xml"); do
  grep -q '<maven.deploy.skip>true<' "$root/$module/pom.xml" || modules+=("$module")
done
[ "${#modules[@]}" -gt 1 ] || fail "pom.xml names no published module"

# build FOLDER GOAL...: in a copy of the sources.
build() {
  local folder=$1
  shift
  mkdir -p "$folder"
  (cd "$root" && git ls-files -z --cached --others --exclude-standard \
    | tar --null -T - --ignore-failed-read -cf - 2>/dev/null) | tar -xf - -C "$folder"
  (cd "$folder" && mvn -B -ntp -q "${options[@]}" -Prelease -Dgpg.skip -Dformat.skip \
    -Dmaven.test.skip -Dmaven.install.skip -pl "$(IFS=,; echo "${modules[*]}")" -am "$@")
}

say "first build: ${modules[*]}"
build "$work/one" deploy -DaltDeploymentRepository="folder::file://$repository"
say "second build"
build "$work/two/in-a-longer-path" package

say "comparing"
compared=0
different=0
for module in "${modules[@]}"; do
  for file in "$work/one/$module/target"/*.jar "$work/one/$module/target"/*-cyclonedx.* \
      "$work/one/$module/target/.flattened-pom.xml"; do
    [ -e "$file" ] || continue
    compared=$((compared + 1))
    cmp "$file" "$work/two/in-a-longer-path/$module/target/$(basename "$file")" \
      || different=$((different + 1))
  done
done
[ "$different" -eq 0 ] || fail "$different of $compared files differ"
[ "$compared" -ge $((${#modules[@]} * 4)) ] || fail "only $compared files were built"
echo "$compared files are equal"

# The programs of the guide need a JDK of version 22 or later, also for Maven.
for home in "${JAVA_HOME:-/nonexistent}" /usr/lib/jvm/*; do
  [ -r "$home/release" ] || continue
  version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release")
  [ "${version:-0}" -lt 22 ] || break
done
[ "${version:-0}" -ge 22 ] || fail "no JDK of version 22 or later; name one in JAVA_HOME"
export JAVA_HOME=$home

say "a Maven project outside of this build"
shop=$work/shop
mkdir -p "$shop/src/main/java/shop"
awk -v to="$shop" '
  match($0, /src\/main\/java\/shop\/[A-Za-z]+\.java/) { source = substr($0, RSTART, RLENGTH) }
  /^```xml/ && !pom { out = "pom.xml"; pom = 1; next }
  /^```kotlin/ { out = "build.gradle.kts"; next }
  /^```java/ && source { out = source; source = ""; next }
  /^```/ { out = ""; next }
  out { print > (to "/" out) }' "$guide"
sed -i "s|^</project>|  <repositories><repository><id>folder</id><url>file://$repository</url></repository></repositories>\n</project>|" "$shop/pom.xml"
cp "$root/integrations/consumers/projects/shop/Visit.java" "$shop/src/main/java/shop/"
(cd "$shop" && mvn -B -ntp -q -Dmaven.repo.local="$work/local" package \
  org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
  -DincludeScope=runtime -DoutputDirectory=target/lib)
said=$("$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -Xmx256m \
  -cp "$shop/target/classes:$shop/target/lib/*" shop.Visit "$work/data")
expected=$'1\n1\n1: tea, 450'
[ "$said" = "$expected" ] || fail "the service said '$said' instead of '$expected'"
echo "the service works"

if command -v gradle >/dev/null; then
  say "the same project with Gradle"
  touch "$shop/settings.gradle.kts"
  sed -i "s|^  mavenLocal()|  maven { url = uri(\"file://$repository\") }|" "$shop/build.gradle.kts"
  (cd "$shop" && gradle -q build)
else
  say "Gradle is not installed: $shop/build.gradle.kts was not built"
fi
say "done: $repository"
