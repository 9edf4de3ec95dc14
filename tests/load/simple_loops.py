"""How exchanges follow one another, as simply as it can be: the loop of wiretool.load.exchange_loop must equal it."""

from math import inf

from wiretool.load.loops import Exchange, Window, Work


def one_by_one(work: Work) -> None:
    """Each exchange as soon as the one before it is answered."""
    session, source, samples, writer = work.session, work.source, work.samples, work.writer
    send, receive, feed, clock = work.link.send, work.link.receive, work.feed, session.clock
    note, next_frame, events, sendings = samples.service.append, source.next, source.events, work.sendings
    while not session.is_over:
        frame = next_frame()
        writer.sent = last = source.last
        writer.since = began = clock()
        if sendings is not None:
            sendings.note(last, began, began)
        send(frame)
        acknowledged = feed(receive())
        while acknowledged < last:
            acknowledged = max(acknowledged, feed(receive()))
        note(clock() - began)
        writer.acknowledged = acknowledged
        samples.events += events
        samples.bytes += source.size


def windowed(work: Work, window: Window) -> None:
    """As many exchanges as there is room for, when they are due."""
    session, link, feed, clock = work.session, work.link, work.feed, work.session.clock
    has_room = False
    while not session.is_over or window.on_the_way:
        now = clock()
        due = [] if session.is_over else window.arrivals.take(now, window.limit - len(window.on_the_way))
        if due:
            session.arrivals += len(due)
            if has_room and due[0] < now:
                session.late(now, due)
            _send(work, window, due, now)
        has_room = len(window.on_the_way) < window.limit
        next_s = window.arrivals.next_s() if has_room and not session.is_over else inf
        data = link.receive() if next_s == inf else link.receive_within(max(next_s - clock(), 0.0))
        if data:
            _take(work, window, feed(data), clock())


def _send(work: Work, window: Window, due: list[float], now: float) -> None:
    """Send a frame for each that is due, all in one go."""
    source, on_the_way, sendings = work.source, window.on_the_way, work.sendings
    frames = []
    for due_s in due:
        frames.append(bytes(source.next()))
        on_the_way.append(Exchange(source.last, due_s, now, source.size))
        if sendings is not None:
            sendings.note(source.last, now, due_s)
    work.writer.sent = source.last
    work.link.send(b"".join(frames))


def _take(work: Work, window: Window, acknowledged: int, now: float) -> None:
    """Count what is answered by that."""
    on_the_way, samples = window.on_the_way, work.samples
    service, response = samples.service.append, samples.response.append
    while on_the_way and on_the_way[0].last <= acknowledged:
        _, due_s, sent_s, size = on_the_way.popleft()
        service(now - sent_s)
        response(now - due_s)
        samples.events += work.source.events
        samples.bytes += size
    work.writer.acknowledged = max(work.writer.acknowledged, acknowledged)
