package io.fovea.recovery;

import io.fovea.buffer.BufferPool;
import io.fovea.error.CorruptionException;
import io.fovea.error.PoolExhaustedException;
import io.fovea.error.StorageException;
import io.fovea.wal.LogSession;
import java.lang.System.Logger.Level;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What is done about the end of the data file, by checkpoints and by a close: free pages there are
 * cut off, and the file is made shorter once the superblock that says so is durable.
 *
 * <p>One thread.
 *
 * @since 0.1.0
 */
public final class FileEnd {
  private static final System.Logger LOG = System.getLogger("io.fovea");

  private final String name;
  private final BufferPool pool;
  private final SuperblockFile superblocks;
  private final Supplier<LogSession> sessions;
  private final long nanos;
  private final long pages;
  private @Nullable LogSession session;
  private boolean cutFailed;

  /**
   * Of a file.
   *
   * @param name of the database, for messages
   * @param sessions gives what cuts are logged by, when the first one is made
   * @param nanos how long one cut looks for free pages
   * @param pages how many it cuts off at most
   */
  public FileEnd(
      String name,
      BufferPool pool,
      SuperblockFile superblocks,
      Supplier<LogSession> sessions,
      long nanos,
      long pages) {
    this.name = name;
    this.pool = pool;
    this.superblocks = superblocks;
    this.sessions = sessions;
    this.nanos = nanos;
    this.pages = pages;
  }

  /**
   * Takes free pages at the end of the file out of the free list, if there are enough of them. Not
   * for long: what is not done in that time is begun anew by the next one.
   *
   * @param stop says that it is to end early
   * @return whether it was tried, and came to its end
   */
  public boolean cut(BooleanSupplier stop) {
    long least = pool.checkpoint().space().worthCutting();
    if (least == Long.MAX_VALUE || cutFailed) {
      return false;
    }
    LogSession own = session;
    if (own == null) {
      own = sessions.get();
      session = own;
    }
    long end = System.nanoTime() + nanos;
    try {
      pool.checkpoint()
          .space()
          .cut(own, least, pages, () -> System.nanoTime() > end || stop.getAsBoolean());
      return true;
    } catch (CorruptionException e) {
      cutFailed = true; // who allocates is told, too
      LOG.log(Level.WARNING, name + ": the list of free pages is damaged", e);
    } catch (StorageException | PoolExhaustedException e) {
      LOG.log(Level.DEBUG, name + ": the file stays longer than it need be", e);
    }
    return false;
  }

  /**
   * The superblock that counts has the mark: behind it the file may end.
   *
   * @param all whether room ahead of need goes as well
   * @return whether the file is shorter now
   */
  public boolean shrink(boolean all) {
    try {
      return pool.checkpoint().space().shrink(superblocks.current().allocator().highWater(), all);
    } catch (StorageException e) {
      LOG.log(Level.DEBUG, name + ": the file stays longer than it need be", e);
      return false;
    }
  }
}
