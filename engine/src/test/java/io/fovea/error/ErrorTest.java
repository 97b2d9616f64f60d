package io.fovea.error;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Messages say what was found, what was expected, where, and what to do. */
class ErrorTest {
  @Test
  void retryableAbortsAreCheap() {
    for (AbortCause cause : AbortCause.values()) {
      TransactionAbortedException e = new TransactionAbortedException(cause);
      assertEquals(cause, e.abortCause());
      assertEquals(cause.retryable(), e.retryable());
      assertEquals(cause.retryable(), e.getStackTrace().length == 0);
      assertTrue(e.getMessage().endsWith(cause.explanation() + "."), e.getMessage());
      assertTrue(new TransactionAbortedException(cause, "Why.").getMessage().endsWith(". Why."));
    }
  }

  @Test
  void corruptionNamesTheLocation() {
    CorruptionException e = new CorruptionException("checksum", 12, 49152, 0xCAFEBABEL, 5);
    assertEquals(
        "Corrupt data: checksum, page 12, file offset 49152: expected 0xcafebabe, found 5. Check"
            + " the file with the verifier, and restore it from a backup.",
        e.getMessage());
    assertFalse(new CorruptionException("magic", -1, -1, 1, 2).getMessage().contains("page"));
    assertEquals(
        List.of(12L, 49152L, 0xCAFEBABEL, 5L),
        List.of(e.pid(), e.fileOffset(), e.expected(), e.found()));
  }

  @Test
  void otherErrorsSayWhatToDo() {
    assertTrue(DuplicateKeyException.ofInsert("stock", new byte[1]).getMessage().contains("put"));
    assertTrue(
        new StorageException("read", "/x", 8192, 5, "EIO").getMessage().contains("at offset 8192"));
    assertTrue(
        new StorageFullException("write", "/x", 4096, "ENOSPC").getMessage().contains("4096"));
    assertTrue(new DatabaseLockedException("/x", 7).getMessage().contains("process 7"));
    assertTrue(new DatabaseLockedException("/x", -1).getMessage().contains("unknown"));
    assertTrue(new PoolTooSmallException(10, 20).getMessage().contains("at least 20"));
    assertTrue(new PoolExhaustedException(64, 5000).getMessage().contains("64 frames"));
    assertTrue(new KeyTooLargeException(2000, 1000).getMessage().contains("2000"));
    assertTrue(new ValueTooLargeException(2000, 1000).getMessage().contains("1000"));
    assertTrue(new UncleanShutdownException("/x").getMessage().contains("backup"));
  }
}
