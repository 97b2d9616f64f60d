package io.fovea.tool;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.VerifyReport;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleFormatException;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Verifies the file of a database that nobody has open.
 *
 * <pre>
 *   java -cp ... io.fovea.tool.FileVerifier FILE
 *   exit code 0: nothing is wrong   1: something is   2: wrong use, or the file can't be opened
 * </pre>
 *
 * <p>Indexes by extractors are checked for their structure only, since a file does not hold the
 * extractors.
 *
 * @since 0.1.0
 */
public final class FileVerifier {
  /** Where the first superblock says how large a page is; see docs/FILE-FORMAT.md. */
  private static final int PAGE_SIZE_OFFSET = 44;

  private static final int PAGE_SIZE_DEFAULT = 4096;
  private static final long BUFFER_BYTES = 32L << 20;

  private FileVerifier() {}

  /**
   * Verifies a file.
   *
   * @param file the file; it is not changed
   * @return what was found
   * @throws IncompatibleFormatException if there is no such file, or it is no database
   * @throws FoveaException if it can't be opened for another reason: it is open already, was not
   *     closed, or its superblocks are damaged
   */
  public static VerifyReport verify(Path file) {
    Options options =
        Options.defaults()
            .pageSize(pageSize(file))
            .bufferBytes(BUFFER_BYTES)
            .create(false)
            .name("verify " + file.getFileName());
    try (Database db = Database.open(file, options)) {
      return db.verify();
    }
  }

  /** What the first superblock says, or a guess that opening will find out. */
  private static int pageSize(Path file) {
    byte[] head = new byte[PAGE_SIZE_OFFSET + 4];
    try (InputStream in = Files.newInputStream(file)) {
      if (in.readNBytes(head, 0, head.length) == head.length) {
        int size = ByteBuffer.wrap(head).order(ByteOrder.nativeOrder()).getInt(PAGE_SIZE_OFFSET);
        if (size >= 4096 && size <= 65536 && Integer.bitCount(size) == 1) {
          return size;
        }
      }
    } catch (IOException e) {
      return PAGE_SIZE_DEFAULT; // opening says what is wrong
    }
    return PAGE_SIZE_DEFAULT;
  }

  /**
   * The command line.
   *
   * @param args the file
   */
  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  static int run(String[] args, PrintStream out, PrintStream err) {
    if (args.length != 1) {
      err.println("Usage: FileVerifier FILE");
      return 2;
    }
    VerifyReport report;
    try {
      report = verify(Path.of(args[0]));
    } catch (FoveaException e) {
      err.println(e.getMessage());
      return 2;
    }
    out.printf(
        "%s: %d pages, %d of them free; %d trees, %d records%n",
        args[0], report.pages(), report.freePages(), report.trees(), report.records());
    for (String problem : report.problems()) {
      out.println("  " + problem);
    }
    out.println(report.ok() ? "Nothing is wrong." : "The file is damaged.");
    return report.ok() ? 0 : 1;
  }
}
