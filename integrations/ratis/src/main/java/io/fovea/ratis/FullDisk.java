package io.fovea.ratis;

import io.fovea.error.StorageFullException;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Distinguishes a full disk, which an operator can resolve, from other failures. The engine has an
 * exception for it; Ratis and the JDK pass the message of the operating system.
 */
final class FullDisk {
  /** ENOSPC, EDQUOT and EFBIG, as Linux and macOS describe them. */
  private static final List<String> WORDS =
      List.of(
          "no space left on device",
          "disk quota exceeded",
          "disc quota exceeded",
          "file too large",
          "not enough space on the disk");

  /** Limits the search: a chain of causes may have a cycle. */
  private static final int DEPTH_MOST = 20;

  private static final String ROOM = " Free space.";
  private static final String THEN =
      " Then restart this peer: it gets what it has missed from the others.";

  private FullDisk() {}

  /**
   * Describes a failure.
   *
   * @param what the description if no disk is full
   * @return the description, with the remedy if a disk is full
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

  /** Returns whether the failure is a full disk. */
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
