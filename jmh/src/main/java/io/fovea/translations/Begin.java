package io.fovea.translations;

/** Where lookups begin. */
enum Begin {
  /** At the root. */
  ROOT("root"),
  /** At cached key locations. */
  FLAT("place"),
  /** At cached key locations, behind a directory of virtual memory. */
  SHORTCUT("location, by shortcut"),
  /** At cached key locations, with memory for few of them. */
  FEW("location, few cached"),
  /** At cached key locations that are all made wrong before each slice. */
  WRONG("location, all wrong"),
  /** At the root, in a database that caches key locations of another table. */
  UNUSED("root, locations of others");

  final String title;

  Begin(String title) {
    this.title = title;
  }

  boolean atPlaces() {
    return this != ROOT && this != UNUSED;
  }
}
