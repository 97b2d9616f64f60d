package io.fovea.ratis;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Ports for peers, below the kernel's ephemeral range, so that no connection takes the port of a
 * peer that restarts. Thread-safe.
 */
public final class Ports {
  private static final int FIRST = 12_000;
  private static final int COUNT = 18_000;
  private static final AtomicInteger NEXT = new AtomicInteger(new Random().nextInt(COUNT));

  private Ports() {}

  /** Returns a free port that was not returned before. */
  public static int next() {
    while (true) {
      int port = FIRST + NEXT.getAndIncrement() % COUNT;
      try (ServerSocket s = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return s.getLocalPort();
      } catch (IOException e) {
        // it is in use
      }
    }
  }
}
