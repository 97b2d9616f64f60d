#!/usr/bin/env bash
# Builds the documentation site in target/site: docs/, the READMEs of the modules, and the Javadoc.
#
#   docs/site/build.sh           builds it; a link that leads nowhere is an error
#   docs/site/build.sh --check   and reads it in headless Chromium (needs chromium and chromedriver)
#   docs/site/build.sh --serve   serves it on localhost and rebuilds it after each change
#   docs/site/build.sh --tools   only installs the tools
#
# Needs Python 3.9 or later; MkDocs goes into target/site-tools. Modules without Javadoc are built first.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools=target/site-tools
if ! cmp -s docs/site/requirements.txt "$tools/requirements.txt"; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check -r docs/site/requirements.txt
  cp docs/site/requirements.txt "$tools/requirements.txt"
fi

if [ "${1-}" = --tools ]; then
  exit
fi

modules="engine integrations/streams integrations/ratis integrations/micrometer integrations/junit integrations/spring-boot"
for module in $modules; do
  if [ ! -e "$module/target/reports/apidocs/index.html" ]; then
    mvn -B -ntp -q package -DskipTests -pl "${modules// /,}" -am
    break
  fi
done

case "${1-}" in
  --serve) exec "$tools/bin/mkdocs" serve --config-file docs/site/mkdocs.yml ;;
  --check | "") ;;
  *) echo "usage: docs/site/build.sh [--check|--serve|--tools]" >&2; exit 2 ;;
esac
NO_MKDOCS_2_WARNING=1 "$tools/bin/mkdocs" build --clean --config-file docs/site/mkdocs.yml
echo "target/site/index.html"
if [ "${1-}" = --check ]; then
  "$tools/bin/python" docs/site/check.py target/site
fi
