package io.fovea.cli;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** Deletes temporary folders. */
final class Folders {
  private Folders() {}

  /**
   * Deletes a folder with its contents, without following links. Files that disappear meanwhile are
   * no failure.
   *
   * @throws IOException the first failure, after everything else was deleted; further ones are
   *     suppressed in it
   */
  static void delete(Path folder) throws IOException {
    IOException[] first = {null};
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            return delete(file);
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException e) {
            return e instanceof NoSuchFileException ? FileVisitResult.CONTINUE : failed(e);
          }

          @Override
          public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException e) {
            if (e != null) {
              failed(e);
            }
            return delete(directory);
          }

          private FileVisitResult delete(Path p) {
            try {
              Files.deleteIfExists(p);
              return FileVisitResult.CONTINUE;
            } catch (IOException e) {
              return failed(e);
            }
          }

          private FileVisitResult failed(IOException e) {
            if (first[0] == null) {
              first[0] = e;
            } else {
              first[0].addSuppressed(e);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    if (first[0] != null) {
      throw first[0];
    }
  }

  /**
   * Deletes a folder after work in it.
   *
   * @param cause what ended the work, to which a failure is added; null if it succeeded
   * @throws IOException a failure, if the work succeeded
   */
  static void deleteAfter(Path folder, @Nullable Throwable cause) throws IOException {
    try {
      delete(folder);
    } catch (IOException e) {
      if (cause == null) {
        throw e;
      }
      cause.addSuppressed(e);
    }
  }
}
