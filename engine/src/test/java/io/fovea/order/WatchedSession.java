package io.fovea.order;

import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * Has {@link LockOrderAgent} watch all tests of the JVM, before the first of them is looked for.
 */
public final class WatchedSession implements LauncherSessionListener {
  @Override
  public void launcherSessionOpened(LauncherSession session) {
    if (!LockOrderAgent.isWatching()) {
      LockOrderAgent.watch();
    }
  }
}
