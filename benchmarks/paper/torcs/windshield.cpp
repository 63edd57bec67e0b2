// A TORCS driver that records what is seen through the windshield while it steers as told.
//
// SPDX-License-Identifier: GPL-2.0-or-later
//
// Copyright (C) 2026 the rffpsr_ros contributors. This program is free software; you can
// redistribute it and/or modify it under the terms of the GNU General Public License as published
// by the Free Software Foundation; either version 2 of the License, or (at your option) any later
// version. It is not part of the package rffpsr_ros and talks with it through files alone.
//
// It reads steering commands, one number per line, from the file that WINDSHIELD_STEERING names,
// and writes to the one that WINDSHIELD_FRAMES names, for every tick of 0.1 s, the command that was
// in force (float32) and the grey frame of 64 x 64 bytes at its end, first row on top. It ends when
// the car has left the track or the commands have come to an end. Time is that of the simulation:
// rendering happens between two steps of the physics, however long it takes.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

#include <GL/gl.h>
#include <plib/ssg.h>

#include <car.h>
#include <graphic.h>
#include <raceman.h>
#include <robot.h>
#include <tgf.h>
#include <tgfclient.h>
#include <track.h>

extern tRmInfo *ReInfo;

namespace {

const int STEPS_PER_TICK = 50; // of 2 ms
const int SIZE = 64, BLOCK = 4, WINDOW = SIZE * BLOCK;
const float SPEED = 15.0f; // m/s

tSituation *situation;
tCarElt *car;
std::vector<float> commands;
size_t tick = 0;
int steps = 0;
float steering = 0.0f;
FILE *frames = nullptr;
tGraphicItf graphics;
tfSimUpdate simulate = nullptr;

void fail(const char *what) {
    fprintf(stderr, "windshield: %s\n", what);
    _exit(1);
}

const char *variable(const char *name) {
    const char *value = getenv(name);
    if (value == nullptr) fail(name);
    return value;
}

void openWindow() {
    static char name[] = "windshield";
    char *arguments[] = {name, nullptr};
    GfScrInit(1, arguments);
    ssgInit();
    GfInitClient();
    tModList *module = nullptr;
    char path[1024];
    snprintf(path, sizeof path, "%smodules/graphic/ssggraph.so", GetLibDir());
    if (GfModLoad(0, path, &module) != 0) fail("the graphics module cannot be loaded");
    module->modInfo->fctInit(module->modInfo->index, &graphics);
    void *screen = GfuiScreenCreate();
    graphics.inittrack(ReInfo->track);
    graphics.initview(0, 0, WINDOW, WINDOW, GR_VIEW_STD, screen);
    graphics.initcars(situation);
}

// The frame on the way to the screen, averaged over blocks of pixels.
void writeFrame() {
    static unsigned char pixels[WINDOW][WINDOW][3];
    static unsigned char grey[SIZE][SIZE];
    graphics.refresh(situation);
    glFinish();
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glReadBuffer(GL_BACK);
    glReadPixels(0, 0, WINDOW, WINDOW, GL_RGB, GL_UNSIGNED_BYTE, pixels);
    for (int row = 0; row < SIZE; row++) {
        for (int column = 0; column < SIZE; column++) {
            float sum = 0.0f;
            for (int y = 0; y < BLOCK; y++) {
                for (int x = 0; x < BLOCK; x++) {
                    const unsigned char *rgb = pixels[row * BLOCK + y][column * BLOCK + x];
                    sum += 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
                }
            }
            grey[SIZE - 1 - row][column] = (unsigned char)lroundf(sum / (BLOCK * BLOCK));
        }
    }
    fwrite(&steering, sizeof steering, 1, frames);
    fwrite(grey, 1, sizeof grey, frames);
}

bool offTrack() { return fabsf(car->_trkPos.toMiddle) > 0.5f * car->_trkPos.seg->width; }

// One step of the physics; at the end of a tick the frame, and the next command.
void update(tSituation *s, double seconds, int telemetry) {
    simulate(s, seconds, telemetry);
    if (!(s->_raceState & RM_RACE_RUNNING)) return;
    if (steps == 0) steering = commands[0];
    if (++steps % STEPS_PER_TICK != 0) return;
    writeFrame();
    if (++tick == commands.size() || offTrack()) {
        fclose(frames);
        _exit(0); // nothing is left to be tidied up
    }
    steering = commands[tick];
}

void newTrack(int, tTrack *, void *, void **setup, tSituation *) { *setup = nullptr; }

void newRace(int, tCarElt *driven, tSituation *s) {
    car = driven;
    situation = s;
    FILE *file = fopen(variable("WINDSHIELD_STEERING"), "r");
    float command;
    while (file != nullptr && fscanf(file, "%f", &command) == 1) commands.push_back(command);
    if (commands.empty()) fail("there are no steering commands");
    fclose(file);
    frames = fopen(variable("WINDSHIELD_FRAMES"), "wb");
    if (frames == nullptr) fail("the frames cannot be written");
}

// Called every 20 ms: holds the speed, in second gear at most, and the steering of the tick.
void drive(int, tCarElt *driven, tSituation *) {
    if (simulate == nullptr) { // only now is everything there that is to be seen
        openWindow();
        simulate = ReInfo->_reSimItf.update;
        ReInfo->_reSimItf.update = update;
    }
    float missing = SPEED - driven->_speed_x;
    memset(&driven->ctrl, 0, sizeof driven->ctrl);
    driven->_steerCmd = steering;
    driven->_gearCmd = driven->_speed_x < 9.0f ? 1 : 2;
    driven->_accelCmd = fminf(1.0f, fmaxf(0.0f, 0.2f + 0.3f * missing));
    driven->_brakeCmd = fminf(1.0f, fmaxf(0.0f, -0.3f * missing - 0.2f));
}

int initialise(int index, void *interface) {
    tRobotItf *robot = static_cast<tRobotItf *>(interface);
    robot->rbNewTrack = newTrack;
    robot->rbNewRace = newRace;
    robot->rbDrive = drive;
    robot->rbPitCmd = nullptr;
    robot->rbEndRace = nullptr;
    robot->rbShutdown = nullptr;
    robot->index = index;
    return 0;
}

} // namespace

extern "C" int windshield(tModInfo *module) {
    memset(module, 0, sizeof *module);
    static char name[] = "windshield", description[] = "records the view through the windshield";
    module->name = name;
    module->desc = description;
    module->fctInit = initialise;
    module->gfId = ROB_IDENT;
    module->index = 1;
    return 0;
}
