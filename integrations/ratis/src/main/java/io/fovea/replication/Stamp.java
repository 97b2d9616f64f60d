package io.fovea.replication;

/**
 * The fields that a leader sets in an entry before it appends it.
 *
 * @since 0.1.0
 */
public final class Stamp {
  private Stamp() {}

  /**
   * Stamps an entry.
   *
   * @param entry an entry of {@link Commands#entry}; an empty one is a mark, and stays empty
   * @param clockMillis the leader's clock
   * @param window for how many entries requests are remembered
   * @param windowMillis for how long they are remembered at least, by the leaders' clocks
   * @return the entry to append
   */
  public static byte[] put(byte[] entry, long clockMillis, long window, long windowMillis) {
    return Entry.stamp(entry, clockMillis, window, windowMillis);
  }
}
