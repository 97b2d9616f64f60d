#!/usr/bin/env bash
# Checks a release as a user would receive it, in a folder outside of this checkout:
#
#   1. builds the published artifacts into a folder repository, signed with a throwaway key;
#   2. builds them again, elsewhere and in other surroundings, and compares all files;
#   3. builds and runs the service of docs/guide/getting-started.md, with Maven and with Gradle;
#   4. builds the sample of docs/guide/spring-boot.md as an executable jar, kills it during transfers,
#      restarts it, continues with a record class that has a component more, and goes back.
#
#   integrations/consumers/release.sh [--short] [FOLDER]
#   integrations/consumers/release.sh --set-version VERSION
#
#   FOLDER         is empty or does not exist; by default a temporary folder, which is removed
#   --short        without signatures and without Javadoc, for CI; libraries come from Maven's local
#                  repository where it has them
#   --set-version  only writes a version into the POMs, pages and changelog of this checkout. A
#                  release also gets today's date (UTC)
#
# MVN_OPTIONS has further options for steps 1 and 2. Without Gradle or gpg their steps are skipped.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
today=$(date -u +%F)
# Jars have the modes of the files that were packed.
umask 022
exec </dev/null

say() { printf '\n== %4d s: %s\n' "$SECONDS" "$*"; }
fail() { printf 'release.sh: %s\n' "$*" >&2; exit 1; }
usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }

# version FOLDER
version() { sed -n '/<artifactId>fovea-parent</{n;s|.*<version>\(.*\)</version>.*|\1|p;q}' "$1/pom.xml"; }

# set_version FOLDER VERSION: VersionTest checks the result.
set_version() {
  local old=${1:?} new=${2:?}
  old=$(version "$1")
  old=${old//./\\.}
  (cd "$1"
    find . -name target -prune -o \
      \( -name pom.xml -o -path './docs/guide/*.md' -o -path ./README.md \) -type f -print0 \
      | xargs -0 sed -i -e "s/>$old</>$new</" -e "s/\(\"io\.fovea:[a-z-]*:\)$old\"/\1$new\"/"
    case "$new" in
      *-SNAPSHOT) grep -q '^## Unreleased$' CHANGELOG.md \
        || sed -i '0,/^## /s/^## /## Unreleased\n\n&/' CHANGELOG.md ;;
      *) sed -i -e 's/ Nothing has been released yet\.$//' \
          -e "s/^## Unreleased$/## $new - $today/" CHANGELOG.md
        sed -i "s|\(<project.build.outputTimestamp>\)[^T]*T|\1${today}T|" pom.xml ;;
    esac)
}

short=false
folder=
while [ "$#" -gt 0 ]; do
  case "$1" in
    --short) short=true ;;
    --set-version)
      [ "$#" -eq 2 ] && [[ $2 =~ ^[0-9]+(\.[0-9]+){2}(-[0-9A-Za-z.-]+)?$ ]] || usage
      set_version "$root" "$2"
      exit ;;
    -*) usage ;;
    *) [ -z "$folder" ] || usage; folder=$1 ;;
  esac
  shift
done

children=()
scratch=$(mktemp -d)
cleanup() {
  local child
  for child in "${children[@]}"; do
    kill -9 "$child" 2>/dev/null || true
  done
  if [ -d "$scratch/gnupg" ]; then
    GNUPGHOME=$scratch/gnupg gpgconf --kill all || true
  fi
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
work=${folder:-$scratch/work}
mkdir -p "$work"
work=$(cd "$work" && pwd)
[ -z "$(ls -A "$work")" ] || fail "$work is not empty"
case "$work/" in "$root"/*) fail "$work is in the checkout" ;; esac

# Prints a path as part of a URL.
encoded() {
  local LC_ALL=C i c
  for ((i = 0; i < ${#1}; i++)); do
    c=${1:i:1}
    case "$c" in
      [A-Za-z0-9/._~-]) printf %s "$c" ;;
      *) printf '%%%02X' "$(($(printf %d "'$c") & 255))" ;;
    esac
  done
}
repository=$work/repository
repository_url=file://$(encoded "$repository")
local=$work/local
read -r -a options <<<"${MVN_OPTIONS:-}"

modules=()
for module in $(sed -n 's|^ *<module>\(.*\)</module>|\1|p' "$root/pom.xml"); do
  grep -q '<maven.deploy.skip>true<' "$root/$module/pom.xml" || modules+=("$module")
done
[ "${#modules[@]}" -gt 1 ] || fail "pom.xml names no published module"
release=$(version "$root")
release=${release%-SNAPSHOT}

# sources FOLDER: a copy of this checkout with the version of the release.
sources() {
  mkdir -p "$1"
  if git -C "$root" rev-parse 2>/dev/null; then
    (cd "$root" && git ls-files -z --cached --others --exclude-standard \
      | tar --null -T - --ignore-failed-read -cf - 2>/dev/null)
  else
    tar -C "$root" --exclude=target --exclude=.git -cf - .
  fi | tar -xf - -C "$1"
  set_version "$1" "$release"
}

# build FOLDER REPOSITORY OPTION...
build() {
  local folder=$1 to=$2
  shift 2
  (cd "$folder" && mvn -B -ntp -q "${options[@]}" -Prelease -Dformat.skip -Dmaven.test.skip \
    -Dmaven.install.skip -pl "$(IFS=,; echo "${modules[*]}")" -am "$@" \
    deploy -DaltDeploymentRepository="folder::file://$(encoded "$to")")
}

# The POM has no address of the project before its first release.
address=()
if grep -q '<fovea.url>https://fovea.example/' "$root/pom.xml"; then
  address=(-Dfovea.url=https://rehearsal.invalid/fovea)
fi
parts=("${address[@]}")
signed=false
if "$short"; then
  parts+=(-Dmaven.javadoc.skip -Dgpg.skip)
elif command -v gpg >/dev/null; then
  signed=true
else
  parts+=(-Dgpg.skip)
fi

say "building $release: ${modules[*]}"
one=$work/one
two=$work/two/in-a-longer-path
sources "$one"
mkdir -p "$two"
cp -R "$one/." "$two"
if [ "${#address[@]}" -gt 0 ]; then
  if (cd "$one" && mvn -B -ntp -q "${options[@]}" -N -Prelease validate) >"$scratch/placeholder" 2>&1; then
    fail "the release profile accepts the placeholder of fovea.url"
  fi
  grep -q 'fovea.url is a placeholder' "$scratch/placeholder" \
    || fail "the release profile says: $(head -3 "$scratch/placeholder")"
fi
if "$signed"; then
  mkdir -m 700 "$scratch/gnupg"
  export GNUPGHOME=$scratch/gnupg
  gpg --batch --quiet --passphrase '' --quick-gen-key 'Rehearsal <rehearsal@fovea.example>' \
    2>"$scratch/gpg" || fail "gpg: $(cat "$scratch/gpg")"
fi
build "$one" "$repository" "${parts[@]}"

# published FOLDER: the files of a repository that have to be the same in each build.
published() {
  (cd "$1" && find . -type f ! -name 'maven-metadata*' ! -name '*.asc' ! -name '*.asc.*' | sort)
}
count=$(published "$repository" | wc -l)
jars=$(published "$repository" | grep -c '\.jar$')
[ "$jars" -ge $(((${#modules[@]} - 1) * 2)) ] || fail "only $jars jars were deployed"
boms=$(published "$repository" | grep -c 'cyclonedx\.json$' || true)
[ "$boms" -ge "${#modules[@]}" ] || fail "only $boms of ${#modules[@]} modules have a bill of materials"
if "$signed"; then
  say "verifying the signatures"
  while read -r file; do
    case "$file" in *.md5 | *.sha1) continue ;; esac
    gpg --batch --quiet --verify "$repository/$file.asc" "$repository/$file" 2>"$scratch/gpg" \
      || fail "$file: $(cat "$scratch/gpg")"
  done < <(published "$repository")
else
  say "nothing was signed: $("$short" && echo this is the short form || echo gpg is not installed)"
fi

say "building it again"
(export TZ=Pacific/Auckland LC_ALL=C
  build "$two" "$work/repository-two" "${parts[@]}" -Dgpg.skip -T1)
diff <(published "$repository") <(published "$work/repository-two") || fail "the builds have other files"
different=0
while read -r file; do
  cmp "$repository/$file" "$work/repository-two/$file" || different=$((different + 1))
done < <(published "$repository")
[ "$different" -eq 0 ] || fail "$different of $count files differ"
echo "$count files are equal"

# The programs of the guides need a JDK of version 22 or later, also for Maven.
# jdks PROGRAM LOWEST HIGHEST: prints the installed JDKs of these versions with a program, oldest first.
jdks() {
  local home version
  for home in "${JAVA_HOME:-/nonexistent}" /usr/lib/jvm/*; do
    [ -x "$home/bin/$1" ] && [ -r "$home/release" ] || continue
    version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$home/release")
    [ "${version:-0}" -lt "$2" ] || [ "${version:-0}" -gt "$3" ] || printf '%s %s\n' "$version" "$home"
  done | sort -n | cut -d ' ' -f 2-
}
java_home=$(jdks javac 22 999 | sed -n '$p')
[ -n "$java_home" ] || fail "no JDK of version 22 or later; name one in JAVA_HOME"

# Settings that add the folder repository, so that the documented POMs stay as they are.
seed=
if "$short" && [ -d "$HOME/.m2/repository" ]; then
  seed=file://$(encoded "$HOME/.m2/repository")
fi
entry() {
  printf '<%s><id>%s</id><url>%s</url><releases><checksumPolicy>ignore</checksumPolicy></releases></%s>' \
    "$1" "$2" "$3" "$1"
}
{
  echo '<settings><profiles><profile><id>folder</id><repositories>'
  entry repository folder "$repository_url"
  [ -z "$seed" ] || entry repository seed "$seed"
  echo '</repositories><pluginRepositories>'
  [ -z "$seed" ] || entry pluginRepository seed "$seed"
  echo '</pluginRepositories></profile></profiles>'
  echo '<activeProfiles><activeProfile>folder</activeProfile></activeProfiles></settings>'
} >"$work/settings.xml"

# user_mvn GOAL...: Maven as a user has it, with an empty local repository at first.
user_mvn() {
  JAVA_HOME=$java_home PATH=$java_home/bin:$PATH \
    mvn -B -ntp -q -gs "$work/settings.xml" -Dmaven.repo.local="$local" "$@"
}

# block PAGE LANGUAGE N: prints the Nth block of a language on a page.
block() {
  local text
  text=$(awk -v begin="\`\`\`$2" -v n="$3" '
    $0 == begin && ++seen == n { on = 1; next }
    /^```/ { on = 0 }
    on' "$one/docs/guide/$1")
  [ -n "$text" ] || fail "docs/guide/$1 has no ${3}th block of $2"
  printf '%s\n' "$text"
}

say "the service of the guide with Maven"
shop=$work/shop
mkdir -p "$shop/src/main/java/shop"
awk -v to="$shop" '
  match($0, /src\/main\/java\/shop\/[A-Za-z]+\.java/) { source = substr($0, RSTART, RLENGTH) }
  /^```java/ && source { out = source; source = ""; next }
  /^```/ { out = ""; next }
  out { print > (to "/" out) }' "$one/docs/guide/getting-started.md"
cp "$root/integrations/consumers/projects/shop/Visit.java" "$shop/src/main/java/shop/"
block getting-started.md xml 1 | sed 's/>shop\.Main</>shop.Visit</' >"$shop/pom.xml"
expected=$'1\n1\n1: tea, 450'
# Maven resets the colors of the terminal also where there is none.
said=$(cd "$shop" && user_mvn compile exec:exec | sed 's/\x1b\[[0-9;]*m//g') || fail "$said"
[ "$said" = "$expected" ] || fail "the service said '$said' instead of '$expected'"
echo "the service works"

# Debian's Gradle 4 does not run on a JDK that Fovea runs on.
gradle_home=$(jdks java 8 21 | sed -n 1p)
if ! command -v gradle >/dev/null; then
  say "Gradle is not installed: the service was not built with it"
elif ! JAVA_HOME=$gradle_home gradle --version 2>&1 | grep '^Gradle 4\.' >/dev/null; then
  say "Gradle is not version 4, the one that this script writes a build for: skipped"
else
  say "the same service with Gradle"
  mkdir "$work/gradle"
  cp -R "$shop/src" "$work/gradle/"
  documented=$(block getting-started.md kotlin 1)
  bom=$(sed -n 's/.*platform("io\.fovea:fovea-bom:\([^"]*\)").*/\1/p' <<<"$documented")
  [ "$bom" = "$release" ] || fail "the guide names version '$bom' for Gradle instead of $release"
  # It has neither platforms nor Kotlin: its build is written from the documented dependencies and
  # options.
  {
    cat <<'G'
apply plugin: 'java'
def java22 = System.getenv('FOVEA_JAVA_HOME')
repositories {
  maven { url System.getenv('FOVEA_REPOSITORY') }
  maven { url System.getenv('FOVEA_LIBRARIES') }
}
tasks.withType(JavaCompile) {
  options.fork = true
  options.forkOptions.executable = "$java22/bin/javac"
G
    sed -n "s/^tasks.*JavaCompile.*options\.release = \([0-9]*\) }$/  options.compilerArgs.addAll(['--release', '\1'])/p" <<<"$documented"
    printf '}\ndependencies {\n'
    sed -n "s/^  implementation(\"\(io\.fovea:[a-z-]*\)\")$/  implementation '\1:$release'/p" <<<"$documented"
    cat <<'G'
}
task run(type: JavaExec) {
  executable "$java22/bin/java"
  classpath sourceSets.main.runtimeClasspath
  main 'shop.Visit'
G
    sed -n "s/^  applicationDefaultJvmArgs = listOf(\(.*\))$/  jvmArgs \1/p" <<<"$documented"
    echo '}'
  } >"$work/gradle/build.gradle"
  touch "$work/gradle/settings.gradle"
  grep -q 'fovea-engine' "$work/gradle/build.gradle" && grep -q 'jvmArgs' "$work/gradle/build.gradle" \
    || fail "the dependencies of the Gradle build were not found in the guide"
  echo "Gradle's build file pins the versions of the documented BOM."
  said=$(cd "$work/gradle" && JAVA_HOME=$gradle_home FOVEA_JAVA_HOME=$java_home \
    FOVEA_REPOSITORY=$repository_url FOVEA_LIBRARIES=file://$(encoded "$local") \
    gradle --no-daemon --console plain -q -g "$work/gradle-home" run) || fail "$said"
  [ "$said" = "$expected" ] || fail "with Gradle the service said '$said' instead of '$expected'"
  echo "the service works"
fi

say "the Spring Boot sample"
boot=$(sed -n 's|.*<spring-boot.version>\(.*\)</spring-boot.version>.*|\1|p' "$root/integrations/spring-boot/pom.xml")
bank=$work/bank
mkdir -p "$bank/src/main/java" "$bank/src/main/resources"
mkdir "$bank/src/main/java/bank"
for class in Account AccountController Accounts BankApplication; do
  cp "$root/integrations/spring-boot/src/test/java/bank/$class.java" "$bank/src/main/java/bank/"
done
block spring-boot.md properties 1 >"$bank/src/main/resources/application.properties"
{
  cat <<X
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <parent>
    <groupId>org.springframework.boot</groupId>
    <artifactId>spring-boot-starter-parent</artifactId>
    <version>$boot</version>
    <relativePath/>
  </parent>
  <groupId>bank</groupId>
  <artifactId>bank</artifactId>
  <version>1</version>
  <properties><java.version>22</java.version></properties>
  <dependencies>
    <dependency>
      <groupId>org.springframework.boot</groupId>
      <artifactId>spring-boot-starter-web</artifactId>
    </dependency>
X
  block spring-boot.md xml 1
  echo '  </dependencies><build><plugins>'
  block spring-boot.md xml 2
  cat <<'X'
    <plugin>
      <groupId>org.springframework.boot</groupId>
      <artifactId>spring-boot-maven-plugin</artifactId>
    </plugin>
  </plugins></build>
</project>
X
} >"$bank/pom.xml"

# start JAR: starts the application, and sets app and port.
start() {
  local log=$scratch/app.log
  : >"$log"
  (cd "$bank" && exec "$java_home/bin/java" -jar "$1" --server.port=0) >"$log" 2>&1 &
  app=$!
  children+=("$app")
  # sed ends first, and tail then by SIGPIPE.
  port=$(tail -n +1 -f --pid="$app" "$log" \
    | sed -n '/Tomcat started on port/{s/.*port \([0-9]*\).*/\1/p;q}') || true
  [ -n "$port" ] || fail "the application ended: $(cat "$log")"
}

# http METHOD PATH: prints the status, then the body.
http() {
  local connection response
  exec {connection}<>"/dev/tcp/localhost/$port" || return 1
  printf '%s %s HTTP/1.0\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n' "$1" "$2" >&"$connection"
  response=$(tr -d '\r' <&"$connection")
  exec {connection}>&-
  sed '1s/^[^ ]* \([0-9]*\).*/\1/;2,/^$/d' <<<"$response"
}

# expect ANSWER METHOD PATH
expect() {
  local answer
  answer=$(http "$2" "$3" | paste -sd ' ')
  [ "$answer" = "$1" ] || fail "$2 $3: '$answer' instead of '$1'"
}

# cents N: prints the balance of an account.
cents() { http GET "/accounts/$1" | sed -n 's/.*"cents":\(-\{0,1\}[0-9]*\).*/\1/p'; }

(cd "$bank" && user_mvn package)
cp "$bank/target/bank-1.jar" "$work/bank-1.jar"
start "$work/bank-1.jar"
expect 200 POST '/accounts/1?owner=Ada&cents=10000'
expect 200 POST '/accounts/2?owner=Bob&cents=0'
# Transfers until the process is killed. Those that were answered have to be there afterward.
(answered=0
  while [ "$(http POST '/transfers?from=1&to=2&cents=1' 2>/dev/null)" = 200 ]; do
    answered=$((answered + 1))
    echo "$answered" >"$scratch/answered"
    # Killed while transfers run.
    if [ "$answered" -eq 100 ]; then
      : >"$scratch/enough"
    fi
  done) &
client=$!
children+=("$client")
while [ ! -e "$scratch/enough" ] && kill -0 "$client" 2>/dev/null; do
  sleep 0.1
done
kill -9 "$app"
wait "$app" 2>/dev/null || true
wait "$client" || true
answered=$(cat "$scratch/answered")
start "$work/bank-1.jar"
first=$(cents 1)
second=$(cents 2)
[ $((first + second)) -eq 10000 ] && [ "$second" -ge "$answered" ] && [ "$second" -le $((answered + 1)) ] \
  || fail "after the kill there are $first and $second cents, after $answered transfers"
echo "killed after $answered transfers, and $second are in the file"

say "the next version of its record class"
cp "$root/integrations/consumers/projects/bank/Account.java" "$bank/src/main/java/bank/"
(cd "$bank" && user_mvn package)
kill -9 "$app"
wait "$app" 2>/dev/null || true
start "$bank/target/bank-1.jar"
expect "200 {\"number\":1,\"owner\":\"Ada\",\"cents\":$first,\"currency\":\"EUR\"}" GET /accounts/1
expect 200 POST '/transfers?from=1&to=2&cents=50'
expect 200 POST '/accounts/3?owner=Eve&cents=7'

say "the previous version again, and the next one again"
kill -9 "$app"
wait "$app" 2>/dev/null || true
start "$work/bank-1.jar"
expect "200 {\"number\":2,\"owner\":\"Bob\",\"cents\":$((second + 50))}" GET /accounts/2
expect 200 POST '/transfers?from=3&to=1&cents=2'
kill -9 "$app"
wait "$app" 2>/dev/null || true
start "$bank/target/bank-1.jar"
expect "200 {\"number\":2,\"owner\":\"Bob\",\"cents\":$((second + 50)),\"currency\":\"EUR\"}" GET /accounts/2
expect '200 {"number":3,"owner":"Eve","cents":5,"currency":"GBP"}' GET /accounts/3
kill "$app"
wait "$app" 2>/dev/null || true
echo "both versions can use the file in turn, and no component is lost"

say "done${folder:+: $repository}"
