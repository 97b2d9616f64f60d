package io.fovea.recovery;

import io.fovea.error.CorruptionException;
import io.fovea.io.Storage;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * The description of a backup, in a separate file: lines of UTF-8, in this order.
 *
 * <pre>
 *   fovea-backup 1
 *   database 0d9c0f6e-...       whose backup it is
 *   page-size 4096
 *   pages 1234                  of the whole data file, superblocks included
 *   since 0d9c0f6e-.../81920/0  only pages that were changed since then; or "none": all
 *   position 0d9c0f6e-.../90112/0   for the next backup; or "none": without a log
 *   end 94208                   no page, and no record of the log, is newer
 *   file pages 409600 1a2b3c4d  a line for each file: data, pages, log; bytes, CRC32C
 *   checksum 5e6f7081           CRC32C of all lines before
 * </pre>
 *
 * <p>The manifest is written last, so it reveals a backup that was cut short or altered.
 *
 * @param database the database that was backed up
 * @param pageSize the size of its pages
 * @param pages the number of pages of the whole data file
 * @param since the position that this incremental backup starts from; null for a full backup
 * @param position the position for the next incremental backup; null without a log
 * @param end the end of the newest record in the backup; 0 without a log
 * @param files the other files
 */
public record BackupManifest(
    UUID database,
    int pageSize,
    long pages,
    @Nullable BackupPoint since,
    @Nullable BackupPoint position,
    long end,
    List<Part> files) {
  /** The suffix of a manifest's name. */
  public static final String SUFFIX = ".manifest";

  /** The suffix of the name of the file with the changed pages. */
  public static final String PAGES = ".pages";

  /** An upper limit for the size of a manifest. */
  public static final int BYTES_MAX = 4096;

  private static final String FIRST = "fovea-backup 1";
  private static final String NONE = "none";
  private static final String DATA = "data";

  /**
   * A file of a backup.
   *
   * @param suffix the suffix of its name
   * @param bytes its length
   * @param crc the CRC32C of its bytes
   */
  public record Part(String suffix, long bytes, int crc) {}

  /** Copies the list. */
  public BackupManifest {
    files = List.copyOf(files);
  }

  /** Returns the manifest as it is written. */
  byte[] bytes() {
    StringBuilder s = new StringBuilder();
    s.append(FIRST).append('\n');
    s.append("database ").append(database).append('\n');
    s.append("page-size ").append(pageSize).append('\n');
    s.append("pages ").append(pages).append('\n');
    s.append("since ").append(since == null ? NONE : since.text()).append('\n');
    s.append("position ").append(position == null ? NONE : position.text()).append('\n');
    s.append("end ").append(end).append('\n');
    for (Part f : files) {
      s.append("file ")
          .append(f.suffix.equals(Storage.DATA) ? DATA : f.suffix.substring(1))
          .append(' ')
          .append(f.bytes)
          .append(' ')
          .append(hex(f.crc))
          .append('\n');
    }
    byte[] lines = s.toString().getBytes(StandardCharsets.UTF_8);
    s.append("checksum ").append(hex(crc(lines, lines.length))).append('\n');
    return s.toString().getBytes(StandardCharsets.UTF_8);
  }

  private static String hex(int crc) {
    return String.format("%08x", crc);
  }

  private static int crc(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }

  /**
   * Reads a manifest.
   *
   * @param name its name, for messages
   * @throws CorruptionException if any of it was altered or is missing
   */
  public static BackupManifest parse(String name, byte[] bytes) {
    String text = new String(bytes, StandardCharsets.UTF_8);
    int last = text.lastIndexOf('\n', text.length() - 2) + 1;
    int lines = text.substring(0, last).getBytes(StandardCharsets.UTF_8).length;
    int crc = crc(bytes, Math.min(lines, bytes.length));
    if (!text.substring(last).equals("checksum " + hex(crc) + "\n")) {
      throw new CorruptionException("checksum of " + name, -1, -1, crc, found(text, last));
    }
    try {
      return read(text.substring(0, last).split("\n"));
    } catch (RuntimeException e) {
      CorruptionException bad =
          new CorruptionException(
              "lines of " + name + ", whose checksum is right", -1, -1, 1, text.charAt(0) & 0xFF);
      bad.initCause(e);
      throw bad;
    }
  }

  /** Returns the number in the last line; -1 if there is none. */
  private static long found(String text, int last) {
    try {
      return Integer.parseUnsignedInt(text.substring(last).strip().replace("checksum ", ""), 16);
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  private static BackupManifest read(String[] lines) {
    if (!lines[0].equals(FIRST)) {
      throw new IllegalArgumentException(
          "It begins with \"" + lines[0] + "\", but this version reads \"" + FIRST + "\".");
    }
    List<Part> files = new ArrayList<>();
    for (int i = 7; i < lines.length; i++) {
      String[] f = value(lines[i], "file").split(" ");
      files.add(
          new Part(
              f[0].equals(DATA) ? Storage.DATA : "." + f[0],
              Long.parseLong(f[1]),
              Integer.parseUnsignedInt(f[2], 16)));
    }
    return new BackupManifest(
        UUID.fromString(value(lines[1], "database")),
        Integer.parseInt(value(lines[2], "page-size")),
        Long.parseLong(value(lines[3], "pages")),
        point(value(lines[4], "since")),
        point(value(lines[5], "position")),
        Long.parseLong(value(lines[6], "end")),
        files);
  }

  private static String value(String line, String name) {
    if (!line.startsWith(name + " ")) {
      throw new IllegalArgumentException(
          "Found the line \"" + line + "\" instead of " + name + ".");
    }
    return line.substring(name.length() + 1);
  }

  private static @Nullable BackupPoint point(String text) {
    if (text.equals(NONE)) {
      return null;
    }
    BackupPoint point = BackupPoint.parse(text);
    if (point == null) {
      throw new IllegalArgumentException("\"" + text + "\" is not a backup position.");
    }
    return point;
  }

  /**
   * Returns why this backup cannot be applied to another, in words; null if it can.
   *
   * <p>It can if it contains every page that was changed since the other was taken ({@link #since}
   * is not after the other's position), and is not older (its position and end are not before the
   * other's). Then the pages together contain all changes before this one's position, and nothing
   * newer than its end, as its log requires.
   *
   * @param before the backup to apply to
   */
  public @Nullable String whyNotOnto(BackupManifest before) {
    BackupPoint from = since;
    BackupPoint to = position;
    BackupPoint previous = before.position;
    if (from == null || to == null) {
      return "it is a full backup, which must come first";
    }
    if (previous == null) {
      return "the backup before it has no position, as it was made without a log";
    }
    if (!database.equals(before.database)) {
      return "it belongs to database "
          + database
          + ", but the backup before it to "
          + before.database;
    }
    if (from.unlogged() != previous.unlogged() || from.lsn() > previous.lsn()) {
      return "it has the changes since "
          + from.text()
          + ", but the backup before it ends at "
          + previous.text()
          + ": a backup is missing between them";
    }
    if (to.lsn() < previous.lsn() || end < before.end) {
      return "its position ("
          + to.text()
          + ") is earlier than that of the backup before it ("
          + previous.text()
          + ")";
    }
    return pageSize == before.pageSize ? null : "its pages have another size";
  }
}
