package io.fovea.ratis;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The network between peers in separate processes: proxies that forward, delay or drop bytes.
 *
 * <p>The tables of the kernel identify the connecting peer: the source port belongs to a socket,
 * and the socket to a process. So a link can be cut in one direction.
 *
 * <p>Thread-safe.
 */
final class Links implements AutoCloseable {
  private final Map<String, ServerSocket> doors = new LinkedHashMap<>();
  private final Map<String, Integer> targets = new ConcurrentHashMap<>();
  private final Map<Long, String> processes = new ConcurrentHashMap<>();
  private final Map<String, Long> delays = new ConcurrentHashMap<>();
  private final Set<String> cuts = ConcurrentHashMap.newKeySet();
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  /** Opens a proxy for a peer, and returns its port. */
  int door(String peer, int target) throws IOException {
    ServerSocket door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    doors.put(peer, door);
    targets.put(peer, target);
    Thread.ofPlatform().daemon().name("door-" + peer).start(() -> accept(peer, door));
    return door.getLocalPort();
  }

  /** Assigns a process to a peer. */
  void process(String peer, long pid) {
    processes.values().remove(peer);
    processes.put(pid, peer);
  }

  void cut(String from, String to) {
    cuts.add(from + ">" + to);
  }

  void delay(String from, String to, long millis) {
    delays.put(from + ">" + to, millis);
  }

  /** Closes all connections of a peer; bytes in transit are lost. */
  void reset(String peer) {
    for (Socket s : open) {
      if (s.getLocalPort() == doors.get(peer).getLocalPort()) {
        close(s);
      }
    }
  }

  void heal() {
    cuts.clear();
    delays.clear();
  }

  private void accept(String peer, ServerSocket door) {
    while (!closed) {
      try {
        Socket in = door.accept();
        Thread.ofVirtual().start(() -> connect(peer, in));
      } catch (IOException e) {
        return;
      }
    }
  }

  private void connect(String to, Socket in) {
    open.add(in);
    Socket out = new Socket();
    open.add(out);
    try {
      in.setTcpNoDelay(true);
      out.setTcpNoDelay(true);
      out.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), targets.get(to)), 1000);
      String from = owner(in);
      Thread.ofVirtual().start(() -> pump(in, out, from + ">" + to));
      pump(out, in, to + ">" + from);
    } catch (IOException e) {
      close(in);
      close(out);
    }
  }

  private void pump(Socket in, Socket out, String link) {
    byte[] buffer = new byte[64 << 10];
    try {
      InputStream from = in.getInputStream();
      OutputStream to = out.getOutputStream();
      for (int n; (n = from.read(buffer)) >= 0; ) {
        Long delay = delays.get(link);
        if (delay != null) {
          Thread.sleep(delay);
        }
        while (cuts.contains(link) && !closed) {
          Thread.sleep(5);
        }
        to.write(buffer, 0, n);
        to.flush();
      }
    } catch (IOException e) {
      // one side has ended
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    close(in);
    close(out);
  }

  private void close(Socket s) {
    open.remove(s);
    try {
      s.close();
    } catch (IOException e) {
      // the link is closed
    }
  }

  /** Returns the connecting peer; "?" if the kernel does not say. */
  private String owner(Socket in) {
    String mine = String.format(":%04X", in.getLocalPort());
    String its = String.format(":%04X", in.getPort());
    String inode = null;
    for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
      try {
        for (String line : Files.readAllLines(Path.of(table))) {
          String[] f = line.trim().split("\\s+");
          if (f.length > 9 && f[1].endsWith(its) && f[2].endsWith(mine)) {
            inode = "socket:[" + f[9] + "]";
          }
        }
      } catch (IOException e) {
        // the other table may contain it
      }
    }
    if (inode != null) {
      for (Map.Entry<Long, String> p : processes.entrySet()) {
        try (Stream<Path> fds = Files.list(Path.of("/proc/" + p.getKey() + "/fd"))) {
          for (Path fd : (Iterable<Path>) fds::iterator) {
            try {
              if (Files.readSymbolicLink(fd).toString().equals(inode)) {
                return p.getValue();
              }
            } catch (IOException e) {
              // it was closed concurrently
            }
          }
        } catch (IOException e) {
          // the process has ended
        }
      }
    }
    return "?";
  }

  @Override
  public void close() {
    closed = true;
    for (ServerSocket d : doors.values()) {
      try {
        d.close();
      } catch (IOException e) {
        // the link is closed
      }
    }
    open.forEach(this::close);
  }
}
