package io.fovea.inspection;

import io.fovea.error.InvalidUseException;
import io.fovea.io.Directories;
import io.fovea.io.FileLock;
import io.fovea.io.Storage;
import io.fovea.recovery.BackupManifest;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The location of a backup: a data file, or a file of changed pages, with its log and its manifest
 * next to it; the directory of these files; or a tar archive of them. In an archive, the suffix of
 * a file's name identifies its contents; the rest of the name is ignored.
 *
 * <p>Used by one thread.
 */
@FunctionalInterface
interface BackupSource {
  /** The suffixes of the files next to the data file of a closed or crashed database. */
  List<String> COMPANION_SUFFIXES =
      List.of(Storage.LOG, Storage.DOUBLE_WRITE, BackupManifest.SUFFIX, BackupManifest.PAGES);

  /**
   * Copies the files.
   *
   * @param file the path of the data file; the names of the others are that path and their suffix
   * @throws InvalidUseException if there is no backup
   * @throws EOFException if an archive was cut short
   */
  void copyTo(Path file) throws IOException;

  static BackupSource at(Path path) throws IOException {
    if (Files.isDirectory(path)) {
      return withCompanions(dataFile(path));
    }
    String name = String.valueOf(path.getFileName());
    if (name.endsWith(BackupManifest.PAGES)) {
      return withCompanions(path.resolveSibling(without(name, BackupManifest.PAGES)));
    }
    if (!Files.exists(path)) {
      throw new InvalidUseException("There is no backup " + path + ".");
    }
    boolean archive;
    try (InputStream in = Files.newInputStream(path)) {
      archive = Tar.isHeader(in.readNBytes(Tar.BLOCK));
    }
    if (!archive) {
      return withCompanions(path);
    }
    return file -> {
      try (InputStream in = Files.newInputStream(path)) {
        archive(in).copyTo(file);
      }
    };
  }

  /** Reads the manifest of a backup; returns null if there is no manifest. */
  static byte @Nullable [] manifestAt(Path path) throws IOException {
    if (Files.isRegularFile(path)) {
      try (InputStream in = Files.newInputStream(path)) {
        if (Tar.isHeader(in.readNBytes(Tar.BLOCK))) {
          return manifestIn(path);
        }
      }
    }
    Path data = path;
    if (Files.isDirectory(path)) {
      data = dataFile(path);
    } else if (!Files.exists(path)) {
      throw new InvalidUseException("There is no backup " + path + ".");
    }
    String name = without(String.valueOf(data.getFileName()), BackupManifest.PAGES);
    Path manifest = data.resolveSibling(name + BackupManifest.SUFFIX);
    return Files.exists(manifest) ? manifestBytes(manifest) : null;
  }

  /** Reads a manifest, or the first bytes of a file that is not a manifest. */
  static byte[] manifestBytes(Path manifest) throws IOException {
    try (InputStream in = Files.newInputStream(manifest)) {
      return in.readNBytes(BackupManifest.BYTES_MAX);
    }
  }

  private static byte @Nullable [] manifestIn(Path archive) throws IOException {
    try (InputStream in = Files.newInputStream(archive)) {
      Tar tar = new Tar(in);
      while (tar.next()) {
        if (tar.name().endsWith(BackupManifest.SUFFIX)) {
          ByteArrayOutputStream bytes = new ByteArrayOutputStream();
          tar.copyTo(bytes);
          return bytes.toByteArray();
        }
        tar.copyTo(OutputStream.nullOutputStream());
      }
      return null;
    }
  }

  /** Returns the backup that consists of a data file and the files next to it. */
  private static BackupSource withCompanions(Path data) {
    return file -> {
      // The lock keeps writers out: a database that is open is not a backup.
      FileLock lock = Files.exists(data) ? FileLock.acquireShared(data) : null;
      try {
        if (lock != null) {
          Directories.copy(data, file);
        }
        for (String suffix : COMPANION_SUFFIXES) {
          Path other = data.resolveSibling(data.getFileName() + suffix);
          if (Files.exists(other)) {
            Directories.copy(other, file.resolveSibling(file.getFileName() + suffix));
          }
        }
      } finally {
        if (lock != null) {
          lock.close();
        }
      }
    };
  }

  /**
   * Returns the only data file in a directory, or the name that it would have next to its changed
   * pages.
   */
  private static Path dataFile(Path directory) throws IOException {
    List<Path> found;
    try (Stream<Path> files = Files.list(directory)) {
      found =
          files
              .filter(Files::isRegularFile)
              .map(f -> String.valueOf(f.getFileName()))
              .filter(BackupSource::mayBePages)
              .sorted()
              .map(n -> directory.resolve(without(n, BackupManifest.PAGES)))
              .toList();
    }
    if (found.size() != 1) {
      throw new InvalidUseException(
          found.isEmpty()
              ? "There is no backup in " + directory + ": it has no data file."
              : "There are several data files in " + directory + ": pass one of " + found + ".");
    }
    return found.get(0);
  }

  private static String without(String name, String suffix) {
    return name.endsWith(suffix) ? name.substring(0, name.length() - suffix.length()) : name;
  }

  /** Returns whether a file may contain pages, either all of them or only the changed ones. */
  private static boolean mayBePages(String name) {
    return Stream.of(
            Storage.LOG,
            Storage.DOUBLE_WRITE,
            Storage.TIMESTAMPS,
            BackupManifest.SUFFIX,
            ".lock",
            ".part")
        .noneMatch(name::endsWith);
  }

  /** Returns the backup in a tar archive, which is read once. */
  static BackupSource archive(InputStream in) {
    return file -> {
      // The data file may come first or last, and only its name identifies the others.
      Map<String, Path> parts = new LinkedHashMap<>();
      Tar tar = new Tar(in);
      while (tar.next()) {
        Path part = file.resolveSibling(file.getFileName() + ".part" + parts.size());
        parts.put(tar.name(), part);
        try (OutputStream out = Directories.write(part)) {
          tar.copyTo(out);
        }
        Directories.permit(part, tar.mode());
      }
      List<String> data =
          parts.keySet().stream()
              .filter(BackupSource::mayBePages)
              .map(n -> without(n, BackupManifest.PAGES))
              .toList();
      if (data.size() != 1) {
        throw new InvalidUseException(
            "The archive is not a backup of a database: it has the files " + parts.keySet() + ".");
      }
      for (Map.Entry<String, Path> p : parts.entrySet()) {
        String suffix =
            p.getKey().startsWith(data.get(0)) ? p.getKey().substring(data.get(0).length()) : "?";
        if (suffix.equals(Storage.DATA) || COMPANION_SUFFIXES.contains(suffix)) {
          Directories.move(p.getValue(), file.resolveSibling(file.getFileName() + suffix));
        }
      }
    };
  }

  /** Reads the archives that {@code TarTarget} writes: plain files in ustar format. */
  final class Tar {
    static final int BLOCK = 512;
    private static final int MAGIC_AT = 257;
    private static final int MODE_AT = 100;
    private static final int SIZE_AT = 124;
    private static final int SUM_AT = 148;
    private static final int TYPE_AT = 156;

    private final InputStream in;
    private String name = "";
    private int mode;
    private long bytes;

    Tar(InputStream in) {
      this.in = in;
    }

    /** Returns whether the bytes are the header of a file, by their magic and checksum. */
    static boolean isHeader(byte[] h) {
      if (h.length < BLOCK
          || !new String(h, MAGIC_AT, 5, StandardCharsets.US_ASCII).equals("ustar")) {
        return false;
      }
      long sum = 0;
      for (int i = 0; i < BLOCK; i++) {
        sum += i >= SUM_AT && i < SUM_AT + 8 ? ' ' : h[i] & 0xFF;
      }
      return sum == octal(h, SUM_AT, 8);
    }

    /** Moves to the next file; returns false after the last one. */
    boolean next() throws IOException {
      byte[] h = block();
      if (isZero(h)) {
        if (!isZero(block())) {
          throw new InvalidUseException("The tar archive has an incomplete end mark.");
        }
        return false;
      }
      if (!isHeader(h) || h[TYPE_AT] != '0' && h[TYPE_AT] != 0) {
        throw new InvalidUseException(
            "The stream is not a backup archive: a tar header of a file was expected.");
      }
      int length = 0;
      while (length < 100 && h[length] != 0) {
        length++;
      }
      name = new String(h, 0, length, StandardCharsets.UTF_8);
      mode = (int) Math.max(0, octal(h, MODE_AT, 8)) & 0777;
      bytes = h[SIZE_AT] < 0 ? base256(h) : octal(h, SIZE_AT, 12);
      if (bytes < 0) {
        throw new InvalidUseException("The size of file " + name + " in the archive is invalid.");
      }
      return true;
    }

    String name() {
      return name;
    }

    /** Returns the mode of the file; always includes access for the owner. */
    int mode() {
      return mode | 0600;
    }

    /** Copies the file and moves to its end. */
    void copyTo(OutputStream out) throws IOException {
      byte[] buffer = new byte[1 << 16];
      for (long left = bytes; left > 0; ) {
        int n = in.read(buffer, 0, (int) Math.min(left, buffer.length));
        if (n < 0) {
          throw cutShort();
        }
        out.write(buffer, 0, n);
        left -= n;
      }
      if (in.readNBytes((int) (-bytes & BLOCK - 1)).length < (int) (-bytes & BLOCK - 1)) {
        throw cutShort();
      }
    }

    private byte[] block() throws IOException {
      byte[] b = in.readNBytes(BLOCK);
      if (b.length < BLOCK) {
        throw cutShort();
      }
      return b;
    }

    private static EOFException cutShort() {
      return new EOFException("The archive was cut short.");
    }

    private static boolean isZero(byte[] b) {
      for (byte x : b) {
        if (x != 0) {
          return false;
        }
      }
      return true;
    }

    /** Parses an octal number; returns -1 if the bytes are not an octal number. */
    private static long octal(byte[] h, int at, int length) {
      long number = 0;
      for (int i = at; i < at + length && h[i] != 0 && h[i] != ' '; i++) {
        if (h[i] < '0' || h[i] > '7') {
          return -1;
        }
        number = number << 3 | h[i] - '0';
      }
      return number;
    }

    private static long base256(byte[] h) {
      long number = 0;
      for (int i = SIZE_AT + 4; i < SIZE_AT + 12; i++) {
        number = number << 8 | h[i] & 0xFF;
      }
      return number;
    }
  }
}
