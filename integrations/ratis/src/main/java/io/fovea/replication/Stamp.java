package io.fovea.replication;

/**
 * What a leader writes into an entry before it appends it.
 *
 * @since 0.1.0
 */
public final class Stamp {
  private Stamp() {}

  /**
   * Stamps an entry.
   *
   * @param entry what {@link Commands#entry} made; or an empty one, which is a mark, and stays so
   * @param clockMillis the leader's clock
   * @param window how many entries back requests are known
   * @param windowMillis for how long they are known at least, by the leaders' clocks
   * @return the entry to append
   */
  public static byte[] put(byte[] entry, long clockMillis, long window, long windowMillis) {
    return Entry.stamp(entry, clockMillis, window, windowMillis);
  }
}
