package io.fovea.inspection;

import io.fovea.catalog.Schema;
import io.fovea.error.FoveaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.io.BlockDevice;
import io.fovea.io.Directories;
import io.fovea.io.FileStorage;
import io.fovea.io.Storage;
import io.fovea.recovery.Superblock;
import io.fovea.recovery.SuperblockFile;
import io.fovea.store.Opening;
import io.fovea.store.StoreConfig;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * Restores a database from backups.
 *
 * <pre>
 *   backups ─copy──► FILE.restoring/ ──► verified as a whole ──► opened (recovery) and closed
 *                                    ──► a new identity ──► moved to FILE
 * </pre>
 *
 * <p>So a file with its final name is whole, has been verified, and needs no log. Neither a failure
 * nor a crash leaves a FILE, but a crash leaves the directory.
 *
 * <p>Used by one thread.
 */
public final class Restoring {
  private static final System.Logger LOG = System.getLogger("io.fovea");
  private static final String FOLDER = ".restoring";

  private final Path file;
  private final Path folder;
  private final StoreConfig config;

  private Restoring(Path file, StoreConfig config) {
    this.file = file.toAbsolutePath(); // java.io resolves relative names in another directory
    this.folder = this.file.resolveSibling(file.getFileName() + FOLDER);
    this.config = config;
  }

  /**
   * Restores backups.
   *
   * @param backups a full backup and any incremental backups
   * @param file the path of the database
   */
  public static FileFindings run(BackupChain backups, Path file, StoreConfig config) {
    return new Restoring(file, config).run(backups);
  }

  private FileFindings run(BackupChain backups) {
    for (String suffix :
        List.of(Storage.DATA, Storage.LOG, Storage.DOUBLE_WRITE, Storage.TIMESTAMPS, FOLDER)) {
      Path existing = file.resolveSibling(file.getFileName() + suffix);
      if (Files.exists(existing)) {
        throw new InvalidUseException(
            suffix.equals(FOLDER)
                ? existing
                    + " belongs to another restore. Wait for it, or delete the folder if that"
                    + " restore was interrupted, and retry."
                : existing
                    + " exists, and a restore never overwrites files. Restore to another name.");
      }
    }
    try {
      Directories.createDirectory(folder);
      Directories.permit(folder, 0700); // its files get the backup's permissions later
      Path copy = folder.resolve(file.getFileName());
      backups.copyTo(copy);
      FileFindings found = Inspection.run(copy, config, true);
      if (found.problems().isEmpty()) {
        recover(copy, found.superblock());
        giveNewIdentity(copy);
        new FileStorage(copy, config.devices()).moveTo(file);
      }
      return found;
    } catch (IOException e) {
      throw new StorageException("restore " + backups, file.toString(), -1, 0, text(e), e);
    } finally {
      remove();
    }
  }

  private static String text(IOException e) {
    return String.valueOf(e.getMessage());
  }

  /** Opens and closes the copy, which afterwards needs no log. */
  private void recover(Path copy, Superblock found) {
    StoreConfig how =
        config.forInspection("restore " + file.getFileName(), found.pageSize(), found.isClean());
    Inspection.use(Opening.open(copy, how, Schema.CATALOG), (store, schema) -> {});
  }

  /**
   * Gives the copy a new database id: the copy and the original are different databases afterwards.
   */
  private void giveNewIdentity(Path copy) {
    try (BlockDevice data = new FileStorage(copy, config.devices()).open(Storage.DATA)) {
      SuperblockFile superblocks = new SuperblockFile(data, copy.toString());
      Superblock now = superblocks.read();
      if (now == null || !now.isClean()) {
        throw new IllegalStateException("The copy was closed, and is not clean: " + now + ".");
      }
      superblocks.write(now.withNewIdentity(UUID.randomUUID()));
      data.sync();
    }
  }

  private void remove() {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path f : files.sorted(Comparator.reverseOrder()).toList()) {
        Directories.delete(f);
      }
    } catch (IOException | FoveaException e) {
      LOG.log(
          Level.WARNING, () -> "The temporary folder of a restore can't be removed: " + folder, e);
    }
  }
}
