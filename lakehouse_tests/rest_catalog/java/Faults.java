package org.apache.iceberg.rest;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * What shall go wrong with commits to come, told over HTTP at {@code /faults}.
 *
 * <p>{@code POST {"next": …, "on": "any|table|transaction", "skip": 0, "times": 1}} arms one, {@code POST {"release":
 * true}} lets held commits go, {@code DELETE} forgets everything and releases, {@code GET} tells how many are armed,
 * held and done.
 */
class Faults extends HttpServlet {
  private static final Set<String> KINDS =
      Set.of("503", "cut", "apply-then-503", "apply-then-cut", "hold-then-apply", "apply-then-hold");
  private static final long HOLD_SECONDS = 120;
  private static final ObjectMapper JSON = new ObjectMapper();

  private static class Armed {
    final String kind;
    final String on;
    int skip;
    int times;

    Armed(JsonNode wish) {
      this.kind = wish.get("next").asText();
      this.on = wish.path("on").asText("any");
      this.skip = wish.path("skip").asInt(0);
      this.times = wish.path("times").asInt(1);
    }
  }

  private final List<Armed> armed = new ArrayList<>();
  private int holding = 0;
  private int done = 0;
  private int releases = 0;

  /** The fault for this commit, or null. */
  synchronized String take(String commit) {
    for (Armed each : armed) {
      if (each.on.equals("any") || each.on.equals(commit)) {
        if (each.skip > 0) {
          each.skip -= 1;
          continue;
        }
        each.times -= 1;
        armed.removeIf(one -> one.times <= 0);
        done += 1;
        return each.kind;
      }
    }
    return null;
  }

  /** Waits until somebody releases; false when nobody does. */
  synchronized boolean hold() {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(HOLD_SECONDS);
    int seen = releases;
    holding += 1;
    try {
      while (releases == seen) {
        long left = deadline - System.nanoTime();
        if (left <= 0) {
          return false;
        }
        wait(Math.max(1, TimeUnit.NANOSECONDS.toMillis(left)));
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      holding -= 1;
    }
  }

  @Override
  protected synchronized void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
    JsonNode wish = JSON.readTree(request.getInputStream());
    if (wish.path("release").asBoolean(false)) {
      release();
    } else if (KINDS.contains(wish.path("next").asText())) {
      armed.add(new Armed(wish));
    } else {
      response.sendError(400, "next must be one of " + KINDS);
      return;
    }
    doGet(request, response);
  }

  @Override
  protected synchronized void doDelete(HttpServletRequest request, HttpServletResponse response) throws IOException {
    armed.clear();
    done = 0;
    release();
    doGet(request, response);
  }

  @Override
  protected synchronized void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
    response.setContentType("application/json");
    JSON.writeValue(
        response.getOutputStream(), Map.of("armed", armed.size(), "holding", holding, "done", done));
  }

  private void release() {
    releases += 1;
    notifyAll();
  }
}
