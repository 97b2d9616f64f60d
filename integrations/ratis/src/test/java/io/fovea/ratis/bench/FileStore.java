package io.fovea.ratis.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CompletableFuture;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;

/**
 * A minimal version of Ratis' example of a file store: a command is a name and a value, and writes
 * a file of that name when it is applied. It writes one file at a time and has no transactions.
 */
final class FileStore extends BaseStateMachine {
  private final Path directory;
  private final boolean sync;

  FileStore(Path directory, boolean sync) throws IOException {
    this.directory = Files.createDirectories(directory);
    this.sync = sync;
  }

  static ByteString command(int key, byte[] value) {
    return ByteString.copyFrom(
        ByteBuffer.allocate(4 + value.length).putInt(key).put(value).array());
  }

  @Override
  public CompletableFuture<Message> applyTransaction(TransactionContext trx) {
    LogEntryProto entry = trx.getLogEntry();
    ByteBuffer b = entry.getStateMachineLogEntry().getLogData().asReadOnlyByteBuffer();
    Path file = directory.resolve(Integer.toString(b.getInt()));
    try (FileChannel f =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      while (b.hasRemaining()) {
        f.write(b);
      }
      if (sync) {
        f.force(false);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    updateLastAppliedTermIndex(entry.getTerm(), entry.getIndex());
    return CompletableFuture.completedFuture(Message.EMPTY);
  }
}
