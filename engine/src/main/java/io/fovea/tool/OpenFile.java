package io.fovea.tool;

import io.fovea.BackupOptions;
import io.fovea.BackupReport;
import io.fovea.Database;
import io.fovea.Durability;
import io.fovea.Options;
import io.fovea.error.CorruptionException;
import io.fovea.error.IncompatibleFormatException;
import io.fovea.error.InvalidUseException;
import io.fovea.io.BlockDevice;
import io.fovea.io.OverlayStorage;
import io.fovea.io.Storage;
import io.fovea.memory.Mem;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.wal.LogReader;
import io.fovea.wal.Watermark;
import java.io.PrintWriter;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The files of a database as bytes on disk, to be read only. It takes no lock, so that pages of a
 * database that is in use can be looked at: such a page may be torn, and then says that it is.
 *
 * <p>One thread.
 */
final class OpenFile implements AutoCloseable {
  private final OverlayStorage storage;
  private final BlockDevice data;
  private final Superblock superblock;

  private OpenFile(OverlayStorage storage, BlockDevice data, Superblock superblock) {
    this.storage = storage;
    this.data = data;
    this.superblock = superblock;
  }

  static OpenFile open(Path file) {
    if (!Files.isRegularFile(file)) {
      throw new IncompatibleFormatException("There is no file " + file + ".");
    }
    OverlayStorage storage = new OverlayStorage(file);
    boolean done = false;
    try {
      BlockDevice data = storage.open(Storage.DATA);
      Superblock superblock = new SuperblockFile(data, file.toString()).read();
      if (superblock == null) {
        throw new IncompatibleFormatException(
            file + " is no Fovea database yet: it is empty, or its making was cut short.");
      }
      done = true;
      return new OpenFile(storage, data, superblock);
    } finally {
      if (!done) {
        storage.close();
      }
    }
  }

  @Override
  public void close() {
    storage.close();
  }

  // -------------------------------------------------------------------------------------- pages

  int dumpPage(long pid, PrintWriter out, boolean json, boolean hex) {
    int pageSize = superblock.pageSize();
    long pages = (data.size() + pageSize - 1) / pageSize;
    if (pid < 0 || pid >= pages) {
      throw new InvalidUseException(
          "There is no page " + pid + ": the file has " + pages + ", from 0 on.");
    }
    try (Arena arena = Arena.ofShared()) {
      MemorySegment page = arena.allocate(pageSize, 4096);
      data.read(pid * pageSize, page, 0, pageSize);
      Map<String, @Nullable Object> dump = PageDump.of(page, pageSize, pid);
      if (pid < Superblock.CATALOG_ROOT_PID) {
        dump.put("newest", Json.components(superblock));
      }
      if (json) {
        if (hex) {
          byte[] all = new byte[pageSize];
          Mem.getBytes(page, 0, all, 0, pageSize);
          dump.put("bytes", all);
        }
        out.println(Json.of(dump));
      } else {
        Text.lines(out, dump, "", hex);
        if (hex) {
          Text.hex(out, page, 0, pageSize);
        }
      }
      return Boolean.FALSE.equals(dump.get("whole")) || dump.containsKey("damaged")
          ? Tool.PROBLEMS
          : Tool.OK;
    }
  }

  // ---------------------------------------------------------------------------------------- log

  /**
   * Shows records.
   *
   * @param from the first that is shown begins there or later; negative for where recovery begins
   * @param to none is shown that begins there or later
   */
  int dumpLog(long from, long to, PrintWriter out, PrintWriter err, boolean json, boolean hex) {
    if (!storage.exists(Storage.LOG)) {
      throw new InvalidUseException("There is no log beside the file.");
    }
    LogDump dump = new LogDump(superblock.pageSize(), hex);
    String separator = "[";
    int code = Tool.OK;
    long redo = superblock.redoLsn();
    // A reader begins at the start of a record, which the redo point is. Before it: at one's risk.
    long open = from < 0 || from >= redo ? redo : from;
    try (BlockDevice log = storage.open(Storage.LOG);
        LogReader reader =
            LogReader.open(
                log,
                superblock.id(),
                open,
                superblock.clean() ? Watermark.NONE : superblock.durable())) {
      while (reader.next() && reader.start() < to) {
        if (reader.start() < from) {
          continue;
        }
        Map<String, @Nullable Object> record = new LinkedHashMap<>();
        record.put("lsn", reader.start());
        record.put("end", reader.end());
        dump.decode(reader, record);
        if (json) {
          out.println(separator);
          out.print(Json.of(record));
          separator = ",";
        } else {
          LogDump.print(out, record, hex);
          if (hex) {
            Text.hex(out, reader.segment(), reader.body(), reader.bodyLength());
          }
        }
        code = record.containsKey("damaged") ? Tool.PROBLEMS : code;
      }
    } catch (CorruptionException e) {
      err.println("fovea: " + e.getMessage());
      code = Tool.PROBLEMS;
    }
    if (json) {
      out.println(separator.equals("[") ? "[]" : "\n]");
    }
    return code;
  }

  // ------------------------------------------------------------------------------------- backup

  static BackupReport backup(Path file, Path directory, BackupOptions how) {
    Options options = FileVerifier.options().create(false);
    try (OpenFile raw = open(file)) {
      // A complete file needs no log to be copied.
      options =
          options
              .device(dev -> dev.pageSize(raw.superblock.pageSize()))
              .durability(raw.superblock.clean() ? Durability.NONE : Durability.SYNC);
    }
    try (Database db = Database.open(file, options)) {
      return db.backup(directory, how);
    }
  }
}
