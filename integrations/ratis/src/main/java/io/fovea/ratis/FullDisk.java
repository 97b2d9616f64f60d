package io.fovea.ratis;

import io.fovea.error.StorageFullException;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Tells a full disk from other failures: it is the one that an operator mends without looking at
 * the program. The engine has an exception of its own for it; Ratis and the JDK have the words of
 * the operating system.
 */
final class FullDisk {
  /** ENOSPC, EDQUOT and EFBIG, as Linux and macOS say them. */
  private static final List<String> WORDS =
      List.of(
          "no space left on device",
          "disk quota exceeded",
          "disc quota exceeded",
          "file too large",
          "not enough space on the disk");

  /** Causes that lie deeper are not looked at: a chain may have a cycle. */
  private static final int DEPTH_MOST = 20;

  private static final String ROOM = " Make room.";
  private static final String THEN =
      " Then start this peer again: the others bring what it has missed.";

  private FullDisk() {}

  /**
   * What to say of a failure.
   *
   * @param what what is said if no disk is full
   * @param cause of the failure
   * @return words that say what an operator does
   */
  static String told(String what, @Nullable Throwable cause) {
    int depth = 0;
    for (Throwable t = cause; t != null && depth < DEPTH_MOST; t = t.getCause(), depth++) {
      if (t instanceof StorageFullException) {
        return "the disk of its database is full: " + sentence(t.getMessage()) + THEN;
      }
      if (t instanceof IOException && isFull(t.getMessage())) {
        return "a disk is full: " + sentence(what) + ROOM + THEN;
      }
    }
    return what;
  }

  /** Whether a failure is that of a full disk. */
  static boolean isCause(@Nullable Throwable cause) {
    return !told("", cause).isEmpty();
  }

  private static boolean isFull(@Nullable String message) {
    String words = message == null ? "" : message.toLowerCase(java.util.Locale.ROOT);
    return WORDS.stream().anyMatch(words::contains);
  }

  private static String sentence(@Nullable String text) {
    return text == null ? "" : text.endsWith(".") ? text : text + ".";
  }
}
