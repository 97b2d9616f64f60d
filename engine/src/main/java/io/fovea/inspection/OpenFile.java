package io.fovea.inspection;

import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.OperationInterruptedException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.FileView;
import io.fovea.io.OverlayStorage;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import io.fovea.recovery.Backup;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.wal.LogReader;
import io.fovea.wal.Watermark;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Read-only access to the files of a database as bytes on disk. No lock is taken, so the pages of a
 * database in use can be inspected. Such a page may be torn, and is then shown as torn.
 *
 * <p>Used by one thread.
 */
public final class OpenFile implements AutoCloseable {
  /** The maximum number of attempts at a copy. */
  private static final int COPIES = 20;

  private final OverlayStorage storage;
  private final BlockDevice data;
  private final Superblock superblock;

  private OpenFile(OverlayStorage storage, BlockDevice data, Superblock superblock) {
    this.storage = storage;
    this.data = data;
    this.superblock = superblock;
  }

  /**
   * Opens a file.
   *
   * @throws IncompatibleFormatException if there is no such file or it is not a database
   */
  public static OpenFile open(Path file) {
    if (!Files.isRegularFile(file)) {
      throw new IncompatibleFormatException("There is no file " + file + ".");
    }
    OverlayStorage storage = new OverlayStorage(file);
    boolean done = false;
    try {
      BlockDevice data = storage.open(Storage.DATA);
      SuperblockFile superblocks = new SuperblockFile(data, file.toString());
      Superblock superblock = superblocks.require(superblocks.readForeign());
      done = true;
      return new OpenFile(storage, data, superblock);
    } finally {
      if (!done) {
        storage.close();
      }
    }
  }

  public Superblock superblock() {
    return superblock;
  }

  @Override
  public void close() {
    storage.close();
  }

  // --------------------------------------------------------------------------------------- copy

  /**
   * Copies a database that a process may have open, as {@link Backup#copyForeign} does.
   *
   * @param file the data file
   * @param begin begins a backup; called for each attempt
   * @throws StorageException if the other process writes superblocks faster than the file can be
   *     copied
   */
  public static Backup.Result copy(Path file, Supplier<Backup> begin) {
    Path name = file.getFileName();
    Path logFile = file.resolveSibling(name + Storage.LOG);
    CorruptionException last = null;
    for (int attempt = 0; attempt < COPIES; attempt++) {
      // Reopened each time: a log may have been created or deleted.
      try (BlockDevice data = FileView.open(file);
          BlockDevice log = Files.exists(logFile) ? FileView.open(logFile) : null;
          Backup backup = begin.get()) {
        SuperblockFile superblocks = new SuperblockFile(data, file.toString());
        Backup.Result result =
            backup.copyForeign(data, log, () -> superblocks.require(superblocks.readForeign()));
        if (result != null) {
          return result;
        }
        last = null;
      } catch (CorruptionException e) {
        last = e; // possibly read during a write
      }
      OperationInterruptedException.check("copy a database");
    }
    if (last != null) {
      throw last;
    }
    throw new StorageException(
        "copy",
        file.toString(),
        -1,
        0,
        "a checkpoint interrupted each of "
            + COPIES
            + " attempts. Call Database.backup in the process that has the database open");
  }

  // -------------------------------------------------------------------------------------- pages

  public long pages() {
    return (data.size() + superblock.pageSize() - 1) / superblock.pageSize();
  }

  /**
   * Returns a page in decoded form. If the page is not whole, {@code whole} is false or {@code
   * damaged} is present.
   */
  public Map<String, @Nullable Object> page(long pid) {
    try (Arena arena = Arena.ofShared()) {
      MemorySegment page = read(arena, pid);
      Map<String, @Nullable Object> dump = PageDump.of(page, superblock.pageSize(), pid);
      if (pid < Superblock.CATALOG_ROOT_PID) {
        dump.put("newest", components(superblock));
      }
      return dump;
    }
  }

  public byte[] bytes(long pid) {
    try (Arena arena = Arena.ofShared()) {
      return Mem.bytes(read(arena, pid), 0, superblock.pageSize());
    }
  }

  private MemorySegment read(Arena arena, long pid) {
    if (pid < 0 || pid >= pages()) {
      throw new InvalidUseException(
          "There is no page " + pid + ": the file has " + pages() + " pages, numbered from 0.");
    }
    int pageSize = superblock.pageSize();
    MemorySegment page = arena.allocate(pageSize, 4096);
    data.read(pid * pageSize, page, 0, pageSize);
    return page;
  }

  private static Map<String, @Nullable Object> components(Record r) {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    for (RecordComponent c : r.getClass().getRecordComponents()) {
      try {
        map.put(c.getName(), c.getAccessor().invoke(r));
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException("Can't read " + r.getClass() + "." + c.getName() + ".", e);
      }
    }
    return map;
  }

  // ---------------------------------------------------------------------------------------- log

  /**
   * Visits log records in decoded form.
   *
   * @param from shows records that begin here or later; negative for the point at which recovery
   *     begins
   * @param to shows no records that begin here or later
   * @param bodies whether to include the bytes of each record
   * @throws InvalidUseException if there is no log
   * @throws CorruptionException if the log ends in damage
   */
  public void log(
      long from, long to, boolean bodies, Consumer<? super Map<String, @Nullable Object>> visitor) {
    if (!storage.exists(Storage.LOG)) {
      throw new InvalidUseException("The data file has no log file next to it.");
    }
    LogDump dump = new LogDump(superblock.pageSize(), bodies);
    long redo = superblock.redoLsn();
    // A reader must start at a record: the redo point, or an earlier position given by the caller.
    long open = from < 0 || from >= redo ? redo : from;
    try (BlockDevice log = storage.open(Storage.LOG);
        LogReader reader =
            LogReader.open(
                log,
                superblock.id(),
                open,
                superblock.isClean() ? Watermark.NONE : superblock.durable())) {
      while (reader.next() && reader.start() < to) {
        if (reader.start() < from) {
          continue;
        }
        Map<String, @Nullable Object> record = new LinkedHashMap<>();
        record.put("lsn", reader.start());
        record.put("end", reader.end());
        dump.decode(reader, record);
        visitor.accept(record);
      }
    }
  }
}
