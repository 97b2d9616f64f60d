package io.fovea;

import io.fovea.buffer.PoolShare;
import io.fovea.config.Pretouch;

/**
 * Memory for the buffers of several databases in this process, with a hard limit on their total:
 * for tenants, partitions or tests whose individual needs are unknown. Thread-safe; it need not be
 * closed.
 *
 * <pre>{@code
 * BufferShare share = BufferShare.of(1L << 30);
 * Options options = Options.defaults().bufferBytes(64 << 20).bufferShare(share);
 * Database a = Database.open(Path.of("a.fovea"), options);
 * Database b = Database.open(Path.of("b.fovea"), options);
 * }</pre>
 *
 * <p><b>Distribution.</b> Each database has a guaranteed minimum ({@link
 * Options#bufferShare(BufferShare, long)}), and grows page by page as needed, up to its {@link
 * Options#bufferBytes}. At the limit, a database with less than its fair share (the limit divided
 * by the number of databases) takes memory from those with more, within about a second. A database
 * at its fair share takes memory that others have left unused for a second or longer. If there is
 * none, it evicts one of its pages.
 *
 * <p><b>Limit.</b> The limit covers what {@link Options#bufferBytes} covers: frames, their headers,
 * and write buffers. It is never exceeded. Memory that a database releases returns to the operating
 * system at once. Guaranteed minimums are reserved: a database whose minimum does not fit is not
 * opened. Logs, timestamps, writes of transactions and the buffers of {@linkplain SnapshotOptions
 * snapshots} are not counted.
 *
 * <p><b>Cost.</b> Accesses to pages in memory cost nothing extra. A shared buffer has no huge
 * pages, which slows a large database by a few percent, and {@link Pretouch} has no effect. A
 * database of up to 64 MiB takes about 2 MiB in addition to its pages. If the JVM denies native
 * access, memory can't move between databases, and each database's {@code bufferBytes} counts in
 * full.
 *
 * @since 0.1.0
 */
public final class BufferShare {
  final PoolShare pools;

  private BufferShare(long bytes) {
    pools = new PoolShare(bytes);
  }

  /**
   * Creates a share.
   *
   * @param bytes the limit for all databases opened with it
   * @return the share, still unused
   * @throws IllegalArgumentException if it is not positive
   */
  public static BufferShare of(long bytes) {
    Options.check(bytes > 0, "The limit of a BufferShare must be positive", bytes);
    return new BufferShare(bytes);
  }

  /** {@return the limit in bytes} */
  public long bytes() {
    return pools.limit();
  }

  /** {@return the bytes used by, or guaranteed to, open databases; never above the limit} */
  public long used() {
    return pools.used();
  }

  /**
   * {@return the number of open databases with this share; a database with timestamps on disk
   * counts twice}
   */
  public int databases() {
    return pools.members();
  }

  @Override
  public String toString() {
    return "BufferShare[" + used() + " of " + bytes() + " bytes, " + databases() + " databases]";
  }
}
