package io.fovea.ratis;

import io.fovea.replication.Position;
import java.io.IOException;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Properties;
import java.util.UUID;

/**
 * Repairs Ratis' file of term and vote, {@code raft-meta}, after a full disk has truncated it.
 *
 * <p>Ratis 3.2.2 writes a new file and renames it over the old one. But its stream also renames if
 * it is closed after a failed write ({@code AtomicFileOutputStream.close}). So on a full disk any
 * election leaves an empty file, and the peer can't restart even after space was freed.
 *
 * <p><b>What the file may say then.</b> A peer must never vote twice in one term, nor follow a
 * leader of a term lower than one it has acknowledged. Both hold in a term <em>higher</em> than any
 * it may have been in. So the repaired file names such a term, and a vote for the peer itself,
 * which has voted for no other in that term. A leader of a lower term steps down when it learns of
 * the higher one, and one election follows. The vote whose write failed was never sent: Ratis
 * answers after writing.
 *
 * <p><b>Higher than any earlier term.</b> The new term is the maximum of the last applied entry's
 * term plus a million, and the clock in milliseconds. Each term is an election, and elections are
 * at least 20 ms apart. So the first bound holds unless a million elections in a row applied
 * nothing. The second bound allows the file to be truncated again before anything is applied.
 */
final class VoteFile {
  private static final System.Logger LOG = System.getLogger("io.fovea.ratis");
  private static final String TERM = "term";
  private static final String VOTE = "votedFor";
  private static final long TERMS = 1_000_000;

  private VoteFile() {}

  /**
   * Repairs the file if it exists and was truncated. Must run before Ratis reads it.
   *
   * @param log Ratis' directory
   * @return whether it was truncated
   * @throws IOException if it can't be read or written
   */
  static boolean mend(Path log, UUID group, String self, Position applied) throws IOException {
    Path directory = log.resolve(group.toString()).resolve("current");
    Path file = directory.resolve("raft-meta");
    if (!Files.exists(file) || isWhole(Files.readString(file))) {
      return false;
    }
    long term = Math.max(applied.term() + TERMS, System.currentTimeMillis());
    String text = VOTE + "=" + self + "\n" + TERM + "=" + term + "\n";
    Path fresh = directory.resolve("raft-meta.mended");
    try (FileChannel f =
        FileChannel.open(
            fresh,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE)) {
      ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
      while (bytes.hasRemaining()) {
        f.write(bytes);
      }
      f.force(true);
    }
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    try (FileChannel d = FileChannel.open(directory, StandardOpenOption.READ)) {
      d.force(true);
    }
    LOG.log(
        System.Logger.Level.WARNING,
        "The file "
            + file
            + " of peer "
            + self
            + ", with its term and vote, was truncated by a full disk. The peer starts in"
            + " term "
            + term
            + ", which is higher than any it may have been in. One election follows.");
    return true;
  }

  private static boolean isWhole(String text) {
    Properties p = new Properties();
    try {
      p.load(new StringReader(text));
      Long.parseLong(p.getProperty(TERM, ""));
    } catch (IOException | IllegalArgumentException e) {
      return false;
    }
    return p.getProperty(VOTE) != null && text.endsWith("\n");
  }
}
