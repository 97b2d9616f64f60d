package io.fovea.streams;

/** The kinds of stores, with the prefixes of their table names. */
enum StoreKind {
  KEY_VALUE("kv"),
  WINDOW("win"),
  SESSION("ses"),
  VERSIONED("ver");

  private final String prefix;

  StoreKind(String prefix) {
    this.prefix = prefix;
  }

  String prefix() {
    return prefix;
  }

  static StoreKind of(String prefix) {
    for (StoreKind kind : values()) {
      if (kind.prefix.equals(prefix)) {
        return kind;
      }
    }
    throw new IllegalArgumentException(
        "The database has a store of the kind \"" + prefix + "\", which this version can't open.");
  }
}
