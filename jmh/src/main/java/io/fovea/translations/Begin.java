package io.fovea.translations;

/** Where a lookup begins, and what is wrong with that. */
enum Begin {
  /** At the root. */
  ROOT("root"),
  /** At the place where the record was seen last. */
  FLAT("place"),
  /** The same, behind a directory of virtual memory. */
  SHORTCUT("place, by shortcut"),
  /** At places, with so little memory that nearly none is known. */
  FEW("place, few known"),
  /** At places, all of which are made wrong before each slice. */
  WRONG("place, all wrong"),
  /** At the root, in a database with places, which are those of another table. */
  UNUSED("root, places of others");

  final String title;

  Begin(String title) {
    this.title = title;
  }

  boolean atPlaces() {
    return this != ROOT && this != UNUSED;
  }
}
