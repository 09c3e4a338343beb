"""A stage of Dvor in Python: it takes the shouting out of titles.

    python tidy.py --port 7090

"SALE!!!  LAMP,,  green" becomes "Sale! Lamp, green". The stage keeps the title as the seller wrote it in its state, and
looks at the offer again a day later.
"""

import argparse
import re
import signal
from concurrent import futures

import grpc
from google.protobuf.wrappers_pb2 import StringValue

from dvor_stage import make_stubs

make_stubs()
from dvor.stages.v1 import stage_pb2 as stages  # noqa: E402
from dvor.stages.v1 import stage_pb2_grpc as services  # noqa: E402

DAY = 24 * 3600 * 1_000_000  # times are microseconds


def tidy(title: str) -> str:
    title = re.sub(r"([!?.,;:])\1+", r"\1", title)
    title = re.sub(r"\s+", " ", title).strip()
    # Short words in capitals are names: TV, USB, LED.
    return re.sub(r"[^\W\d_]{4,}", lambda word: word[0].capitalize() if word[0].isupper() else word[0], title)


class Tidy(services.StageServicer):
    def Describe(self, request, context):
        return stages.DescribeResponse(
            description="Takes the shouting out of titles", version="1", masks=["title"]
        )

    def ShouldProcess(self, request, context):
        """Fast, and without side effects: one answer for each item, in their order."""
        answers = []
        for item in request.items:
            title = item.offer.content.title
            kind = stages.Wanted.YES if tidy(title) != title else stages.Wanted.NO
            answers.append(stages.Wanted(offer_id=item.offer.id, kind=kind))
        return stages.ShouldProcessResponse(answers=answers)

    def Process(self, request, context):
        """Pure: what it says may never be saved, and it may be asked again."""
        return stages.ProcessResponse(answers=[self.run(job.offer, request.now) for job in request.items])

    def run(self, offer, now):
        title = offer.content.title
        if not title:
            # An error is tried again later; a final one is not.
            return stages.Outcome(offer_id=offer.id, error="the offer has no title", final=True)
        answer = stages.Outcome(offer_id=offer.id)
        if tidy(title) == title:
            return answer
        answer.patch.paths.append("title")
        answer.patch.values.content.title = tidy(title)
        answer.new_state.Pack(StringValue(value=title))
        answer.timer.kind, answer.timer.at = stages.Timer.AT, now + DAY
        return answer

    def OnSaved(self, request, context):
        """After the save, at least once, in order per offer: this is the place for side effects."""
        before = StringValue()
        request.state.Unpack(before)
        print(f"{request.offer.id}: {before.value!r} is now {request.offer.content.title!r}", flush=True)
        return stages.OnSavedResponse()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--port", type=int, default=7090, help="0: a free one")
    port = arguments.parse_args().port
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    services.add_StageServicer_to_server(Tidy(), server)
    port = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    print(f"serving on http://127.0.0.1:{port}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: server.stop(grace=2))
    server.wait_for_termination()


if __name__ == "__main__":
    main()
