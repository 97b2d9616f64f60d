package io.fovea.replication;

import io.fovea.error.AbortCause;
import io.fovea.error.DuplicateKeyException;
import io.fovea.error.FoveaException;
import io.fovea.error.IncompatibleSchemaException;
import io.fovea.error.InvalidUseException;
import io.fovea.error.KeyTooLargeException;
import io.fovea.error.TransactionAbortedException;
import io.fovea.error.ValueTooLargeException;
import java.io.UncheckedIOException;

/**
 * Separates failures of a command from failures of a replica. The first kind follows from the
 * command and the data, so each replica throws the same, and it is an outcome. The second kind,
 * such as a full disk, is local: the replica stops.
 *
 * <pre>
 *   of the command    keys and values that are too large, duplicates, misuse, a schema that does not
 *                     fit, a transaction that is too large or was rolled back by its own code; every
 *                     unchecked exception of the command's code
 *   of the replica    all other exceptions of the engine, I/O, and every Error: memory, stack, classes
 * </pre>
 *
 * <p>The size limit of a transaction depends on the database options, so these must be the same on
 * all replicas.
 */
final class Failures {
  /** Limits the reason, which is stored with the request. */
  private static final int REASON_LENGTH_MAX = 2000;

  private Failures() {}

  /** Returns whether each replica throws the same. */
  static boolean isOfCommand(RuntimeException e) {
    return switch (e) {
      case KeyTooLargeException k -> true;
      case ValueTooLargeException v -> true;
      case DuplicateKeyException d -> true;
      case InvalidUseException i -> true;
      case IncompatibleSchemaException s -> true;
      case TransactionAbortedException a ->
          a.abortCause() == AbortCause.TOO_LARGE || a.abortCause() == AbortCause.USER;
      case FoveaException f -> false;
      case UncheckedIOException u -> false;
      default -> true;
    };
  }

  /** The reason that the submitter gets, the same on each replica. */
  static String reason(RuntimeException e) {
    String text = "The command has failed, and changed nothing: " + e;
    return text.length() <= REASON_LENGTH_MAX ? text : text.substring(0, REASON_LENGTH_MAX);
  }
}
