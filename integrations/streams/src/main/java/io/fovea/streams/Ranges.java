package io.fovea.streams;

/** What Kafka Streams' own stores log of ranges; its tests look for the words. */
final class Ranges {
  static final String INVERTED =
      "Returning empty iterator for fetch with invalid key range: from > to. "
          + "This may be due to range arguments set in the wrong order, "
          + "or serdes that don't preserve ordering when lexicographically comparing the serialized"
          + " bytes. "
          + "Note that the built-in numerical serdes do not follow this for negative numbers";

  private Ranges() {}
}
