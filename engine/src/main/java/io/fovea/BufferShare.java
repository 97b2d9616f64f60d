package io.fovea;

import io.fovea.buffer.PoolShare;
import io.fovea.config.Pretouch;

/**
 * Memory for the buffers of several databases of this process, with a hard limit for all of them
 * together: for tenants, partitions, tests, where nobody knows which database will need how much.
 *
 * <pre>{@code
 * BufferShare share = BufferShare.of(1L << 30);
 * Options options = Options.defaults().bufferBytes(64 << 20).bufferShare(share);
 * Database a = Database.open(Path.of("a.fovea"), options);
 * Database b = Database.open(Path.of("b.fovea"), options);
 * }</pre>
 *
 * <p><b>Who gets what.</b> Each database has a part that is always its own ({@link
 * Options#bufferShare(BufferShare, long)}), and grows page by page as it needs more, up to its
 * {@link Options#bufferBytes}. When the limit is reached, one that has less than an equal part of
 * it gets more from those that have more, within a second or so. One that has its equal part gets
 * what others have not used for a second or longer. Otherwise a database that needs a page evicts
 * one of its own, as one without a share does.
 *
 * <p><b>The limit</b> counts what {@link Options#bufferBytes} counts: frames, their headers,
 * buffers for writes. It is never exceeded. Memory that a database gives up goes back to the
 * operating system at once. The parts that are the databases' own are promised: opening one more is
 * refused where the limit has no room for its part. Logs, timestamps and what transactions write
 * are beside the limit, as they are beside {@code bufferBytes}; so are the buffers of {@linkplain
 * SnapshotOptions snapshots}.
 *
 * <p><b>Cost.</b> Reads and writes of pages that are in memory pay nothing. There are no huge pages
 * in a shared buffer, which costs a large database some per cent; {@link Pretouch} does nothing. A
 * database of 64 MiB at most takes some 2 MiB beside its pages, whatever it uses.
 *
 * <p>Where the JVM denies native access memory can't go from one to another: then each database
 * counts with all of its {@code bufferBytes}.
 *
 * <p>Any thread. It ends with its databases; there is nothing to close.
 *
 * @since 0.1.0
 */
public final class BufferShare {
  final PoolShare pools;

  private BufferShare(long bytes) {
    pools = new PoolShare(bytes);
  }

  /**
   * Memory to be shared.
   *
   * @param bytes a hard limit for all databases that are opened with it
   * @return the share, of which nobody has anything yet
   * @throws IllegalArgumentException if it is not positive
   */
  public static BufferShare of(long bytes) {
    Options.check(bytes > 0, "The limit of a BufferShare is positive", bytes);
    return new BufferShare(bytes);
  }

  /**
   * The limit.
   *
   * @return bytes
   */
  public long bytes() {
    return pools.limit();
  }

  /**
   * How much of it is used, or promised to databases that are open.
   *
   * @return bytes, never above the limit
   */
  public long used() {
    return pools.used();
  }

  /**
   * How many databases have a part of it.
   *
   * @return those that are open; one with timestamps on disk counts twice
   */
  public int databases() {
    return pools.members();
  }

  @Override
  public String toString() {
    return "BufferShare[" + used() + " of " + bytes() + " bytes, " + databases() + " databases]";
  }
}
