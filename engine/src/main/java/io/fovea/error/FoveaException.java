package io.fovea.error;

import org.jspecify.annotations.Nullable;

/**
 * The root of all exceptions that Fovea throws deliberately.
 *
 * <p>The hierarchy is unchecked, because almost every call can fail and few callers can handle the
 * failure where it occurs. It is sealed, because the set of failures is part of the API. The only
 * other exceptions that leave the engine are those thrown by user code inside a transaction.
 *
 * @since 0.1.0
 */
public abstract sealed class FoveaException extends RuntimeException
    permits ChangesLostException,
        CorruptionException,
        DatabaseClosedException,
        DatabaseLockedException,
        DuplicateKeyException,
        DurabilityLostException,
        IncompatibleFormatException,
        IncompatibleSchemaException,
        InvalidUseException,
        KeyTooLargeException,
        OperationInterruptedException,
        PoolExhaustedException,
        PoolTooSmallException,
        RecordNotFoundException,
        SequenceExhaustedException,
        SnapshotTooOldException,
        StorageException,
        StorageFullException,
        TransactionAbortedException,
        UncleanShutdownException,
        ValueTooLargeException {
  private static final long serialVersionUID = 1L;

  FoveaException(String message) {
    super(message);
  }

  FoveaException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  /** For frequent exceptions, which can omit the stack trace. */
  FoveaException(String message, @Nullable Throwable cause, boolean stackTrace) {
    super(message, cause, true, stackTrace);
  }
}
