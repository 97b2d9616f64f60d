"""Adds to the site what lies outside of docs/: the READMEs of the modules, source files that pages link to,
and the Javadoc. Links between all of these are rewritten, so that the same page works here and in the repository.
"""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]

# Pages outside of docs/ and their place in the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "modules/contributing.md",
    "CHANGELOG.md": "modules/changelog.md",
    "LICENSE": "modules/license.md",
    "SECURITY.md": "modules/security.md",
    "examples/README.md": "modules/examples.md",
    "integrations/ratis/README.md": "modules/ratis.md",
    "integrations/streams/README.md": "modules/streams.md",
    "tpcc/README.md": "modules/tpcc.md",
    "tpcc/YCSB.md": "modules/ycsb.md",
}

# The Javadoc of the public modules and its place in the site.
JAVADOC = {
    "api/engine": "engine/target/reports/apidocs",
    "api/streams": "integrations/streams/target/reports/apidocs",
    "api/ratis": "integrations/ratis/target/reports/apidocs",
    "api/micrometer": "integrations/micrometer/target/reports/apidocs",
    "api/junit": "integrations/junit/target/reports/apidocs",
    "api/spring-boot": "integrations/spring-boot/target/reports/apidocs",
}

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"(^```.*?^```[^\n]*$)", re.S | re.M)

in_repository = {}  # path in the site -> path in the repository
in_site = {}  # the reverse


def add(files, config, source, uri, content):
    in_repository[uri] = source
    in_site[source] = uri
    files.append(File.generated(config, uri, content=content))


def on_files(files, config):
    in_repository.clear()
    in_site.clear()
    for file in files:
        in_repository[file.src_uri] = "docs/" + file.src_uri
        in_site["docs/" + file.src_uri] = file.src_uri
    for source, uri in PAGES.items():
        path = ROOT / source
        text = path.read_text()
        if not source.endswith(".md"):
            text = f"# {path.name}\n\n```\n{text}\n```\n"
        add(files, config, source, uri, text)
    for page in [f for f in files if f.src_uri.endswith(".md")]:
        text = FENCE.sub("", (ROOT / in_repository[page.src_uri]).read_text())
        for link in LINK.finditer(text):
            source = target(page.src_uri, link.group(2))
            if source and source.endswith(".java") and source not in in_site and (ROOT / source).is_file():
                # What a search finds is pages, not code.
                code = "---\nsearch:\n  exclude: true\n---\n"
                code += f"# {Path(source).name}\n\n`{source}`\n\n```java\n{(ROOT / source).read_text()}\n```\n"
                add(files, config, source, f"sources/{source}.md", code)
    for uri, folder in JAVADOC.items():
        root = ROOT / folder
        for path in sorted(p for p in root.rglob("*") if p.is_file()):
            name = f"{uri}/{path.relative_to(root).as_posix()}"
            if not name.endswith(".md"):  # JDK 25 copies the licences of scripts as such pages
                files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def target(uri, link):
    """The path in the repository that a link of a page means, or None for one within the page or to another host."""
    path = link.split("#")[0]
    if not path or re.match(r"[a-z]+:", path):
        return None
    folder = posixpath.dirname(in_repository[uri])
    return posixpath.normpath(posixpath.join(folder, path))


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri

    def rewrite(link):
        source = target(uri, link.group(2))
        if source not in in_site:
            return link.group(0)  # MkDocs reports it if it leads nowhere
        path = posixpath.relpath(in_site[source], posixpath.dirname(uri) or ".")
        anchor = "#" + link.group(2).split("#", 1)[1] if "#" in link.group(2) else ""
        return link.group(1) + path + anchor + link.group(3)

    parts = FENCE.split(markdown)  # odd ones are code
    return "".join(p if i % 2 else LINK.sub(rewrite, p) for i, p in enumerate(parts))
