package io.fovea.inspection;

import io.fovea.error.CorruptionException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.StorageException;
import io.fovea.io.Directories;
import io.fovea.io.Storage;
import io.fovea.recovery.BackupManifest;
import io.fovea.recovery.BackupPoint;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A full backup and its incremental backups, as the files of one database.
 *
 * <pre>
 *   full          pages 0 .. n                    log R0 .. E0
 *   increment 1   pages newer than R0, replacing  log R1 .. E1  replaces it
 *   increment 2   pages newer than R1, replacing  log R2 .. E2  replaces it
 *                 ─────────────────────────────   ────────────
 *                 pages contain every change before R2 and none after E2; recovery does the rest
 * </pre>
 *
 * <p>Each backup is copied next to the others, checked against its manifest, applied, and removed.
 * The check covers the checksums of all bytes, and whether the backup applies to the previous ones
 * ({@link BackupManifest#whyNotOnto}). A full backup without a manifest is treated as the files of
 * a database, to which nothing can be applied.
 *
 * <p>Immutable; one thread copies.
 */
public final class BackupChain {
  /** The empty chain. */
  public static final BackupChain EMPTY = new BackupChain(List.of());

  private static final int BUFFER_BYTES = 1 << 20;

  /** The same as in {@code Backup}: "FOVBKP1" and a zero. */
  private static final long PAGES_MAGIC = 0x0031504B42564F46L;

  private static final int PAGES_HEADER = 32;
  private static final int EXTENT = 16;

  /** Locates a backup when it is needed. */
  private interface Locator {
    BackupSource source() throws IOException;
  }

  private record Link(String name, Locator locator) {}

  private final List<Link> links;

  private BackupChain(List<Link> links) {
    this.links = links;
  }

  private BackupChain with(Link link) {
    List<Link> more = new ArrayList<>(links);
    more.add(link);
    return new BackupChain(List.copyOf(more));
  }

  /** Returns a chain with one more backup: a directory, a file in it, or a tar archive. */
  public BackupChain with(Path backup) {
    return with(new Link(backup.toString(), () -> BackupSource.at(backup)));
  }

  /**
   * Returns a chain with one more backup: a tar archive, which is read to its end and not closed.
   */
  public BackupChain with(InputStream archive) {
    return with(new Link("the stream", () -> BackupSource.archive(archive)));
  }

  @Override
  public String toString() {
    return String.join(", ", links.stream().map(Link::name).toList());
  }

  /**
   * Returns the position of a backup.
   *
   * @throws InvalidUseException if the backup has no position
   */
  public static BackupPoint position(Path backup) {
    BackupManifest manifest;
    try {
      byte[] bytes = BackupSource.manifestAt(backup);
      manifest = bytes == null ? null : BackupManifest.parse("the manifest of " + backup, bytes);
    } catch (IOException e) {
      throw new StorageException(
          "read the manifest of", backup.toString(), -1, 0, String.valueOf(e.getMessage()), e);
    }
    BackupPoint position = manifest == null ? null : manifest.position();
    if (position == null) {
      throw new InvalidUseException(
          "The backup "
              + backup
              + " has no position: "
              + (manifest == null
                  ? "it has no manifest."
                  : "its database was changed without a log."));
    }
    return position;
  }

  /**
   * Creates the files of one database from all backups.
   *
   * @param file the path of the data file; others next to it are created and removed
   * @throws InvalidUseException if the backups do not follow each other
   * @throws CorruptionException if a backup was altered or cut short
   */
  void copyTo(Path file) throws IOException {
    BackupManifest previous = null;
    for (int i = 0; i < links.size(); i++) {
      Link link = links.get(i);
      Path at = i == 0 ? file : sibling(file, ".increment" + i);
      link.locator.source().copyTo(at);
      boolean incremental = Files.exists(sibling(at, BackupManifest.PAGES));
      BackupManifest manifest = manifest(at, link.name);
      if (i == 0 && incremental) {
        throw new InvalidUseException(
            "The backup "
                + link.name
                + " contains only changes since "
                + (manifest == null || manifest.since() == null
                    ? "another"
                    : manifest.since().text())
                + ": a restore begins with a full backup.");
      }
      if (manifest != null) {
        verify(manifest, at, link.name);
      }
      if (i > 0) {
        requireOnto(previous, manifest, incremental, link.name);
        put(at, file);
      }
      previous = manifest;
      Directories.delete(sibling(at, BackupManifest.SUFFIX));
    }
  }

  private static Path sibling(Path file, String suffix) {
    return file.resolveSibling(file.getFileName() + suffix);
  }

  private static @Nullable BackupManifest manifest(Path at, String name) throws IOException {
    Path path = sibling(at, BackupManifest.SUFFIX);
    if (!Files.exists(path)) {
      return null;
    }
    return BackupManifest.parse("the manifest of " + name, BackupSource.manifestBytes(path));
  }

  private void requireOnto(
      @Nullable BackupManifest previous,
      @Nullable BackupManifest manifest,
      boolean incremental,
      String name) {
    String why =
        !incremental
            ? "it is a full backup, which must be the first"
            : manifest == null
                ? "it has no manifest, so it is incomplete"
                : previous == null
                    ? "the backup before it has no manifest: it is not a backup, or of an older"
                        + " version"
                    : manifest.whyNotOnto(previous);
    if (why != null) {
      throw new InvalidUseException(
          "The backup "
              + name
              + " can't be applied to those before it: "
              + why
              + ". Pass a full backup and then all incremental ones in order.");
    }
  }

  private static void verify(BackupManifest manifest, Path at, String name) throws IOException {
    for (String suffix : List.of(Storage.DATA, Storage.LOG, BackupManifest.PAGES)) {
      BackupManifest.Part part =
          manifest.files().stream().filter(f -> f.suffix().equals(suffix)).findFirst().orElse(null);
      Path path = sibling(at, suffix);
      long expected = part == null ? -1 : part.bytes();
      long found = Files.exists(path) ? Files.size(path) : -1;
      String what =
          "the file of "
              + (suffix.equals(Storage.DATA) ? "data" : suffix.substring(1))
              + " of backup "
              + name
              + ", by its manifest (a backup opened in place has become a database: to restore it,"
              + " remove the manifest): ";
      if (expected != found) {
        throw new CorruptionException(what + "bytes", -1, -1, expected, found);
      }
      if (part != null && crc(path) != part.crc()) {
        throw new CorruptionException(what + "checksum", -1, -1, part.crc(), crc(path));
      }
    }
    if (Files.exists(sibling(at, Storage.DOUBLE_WRITE))) {
      throw new CorruptionException(
          "files of backup " + name + ": a double-write area, which backups do not have",
          -1,
          -1,
          0,
          1);
    }
  }

  private static int crc(Path path) throws IOException {
    CRC32C crc = new CRC32C();
    byte[] buffer = new byte[BUFFER_BYTES];
    try (InputStream in = Files.newInputStream(path)) {
      for (int n; (n = in.read(buffer)) >= 0; ) {
        crc.update(buffer, 0, n);
      }
    }
    return (int) crc.getValue();
  }

  /** Replaces pages by changed ones, and the log. */
  private static void put(Path at, Path file) throws IOException {
    Path changed = sibling(at, BackupManifest.PAGES);
    try (RandomAccessFile in = new RandomAccessFile(changed.toFile(), "r");
        RandomAccessFile runs = new RandomAccessFile(changed.toFile(), "r");
        RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
      ByteBuffer header = ByteBuffer.allocate(PAGES_HEADER).order(ByteOrder.LITTLE_ENDIAN);
      runs.readFully(header.array());
      int pageSize = header.getInt(8);
      long extents = header.getLong(24);
      if (header.getLong(0) != PAGES_MAGIC || pageSize <= 0 || extents < 0) {
        throw new CorruptionException(
            "the header of a file of changed pages", -1, 0, PAGES_MAGIC, header.getLong(0));
      }
      in.seek(PAGES_HEADER + extents * EXTENT);
      byte[] run = new byte[EXTENT];
      byte[] buffer = new byte[BUFFER_BYTES];
      for (long i = 0; i < extents; i++) {
        runs.readFully(run);
        ByteBuffer r = ByteBuffer.wrap(run).order(ByteOrder.LITTLE_ENDIAN);
        out.seek(r.getLong(0) * pageSize);
        for (long left = r.getLong(8) * pageSize; left > 0; ) {
          int n = (int) Math.min(left, buffer.length);
          in.readFully(buffer, 0, n);
          out.write(buffer, 0, n);
          left -= n;
        }
      }
      out.setLength(header.getLong(16) * pageSize);
    } catch (EOFException e) {
      throw new EOFException("The file of changed pages ends before its last page.");
    }
    Directories.delete(changed);
    Path log = sibling(at, Storage.LOG);
    if (Files.exists(log)) {
      Directories.move(log, sibling(file, Storage.LOG), StandardCopyOption.REPLACE_EXISTING);
    } else {
      Directories.delete(sibling(file, Storage.LOG)); // the database was closed and needs no log
    }
  }
}
